#include "jail/execution/self_test.h"

#include <fmt/format.h>

#include <system_error>

#include "jail/execution/execution.h"
#include "jail/host.h"
#include "jail/jail.h"
#include "jail/network_view.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/log.h"

namespace jail {
namespace {

Spec probe_spec(const std::shared_ptr<const policies::SeccompFilter>& filter, const policies::Limits& limits,
                std::string name) {
  Spec spec;
  spec.name = std::move(name);
  spec.command = {"/warder/probe/warder-jail-probe"};
  spec.limits = limits;
  spec.filter = filter;
  spec.tests_host = true;
  auto preferred = policies::Need::preferred;  // this test finds out the facts; policies are compared with them later
  spec.isolation.cgroups = preferred;
  spec.isolation.identity = preferred;
  spec.isolation.landlock = preferred;
  spec.isolation.overlay = preferred;
  spec.isolation.idmap = preferred;
  return spec;
}

bool is_overlay_step(std::string_view step) {
  return step == step_name(Step::root_overlay) || step == step_name(Step::usr_overlay);
}

Task<Result<>> find_root_mode(Host& host, const std::shared_ptr<const policies::SeccompFilter>& filter,
                              const policies::Limits& limits) {
  const RootMode before = std::exchange(host.root, RootMode::overlay);
  auto spec = probe_spec(filter, limits, "self-test-root");
  auto jail = co_await Jail::build(host, std::move(spec));
  if (!jail) {
    Error error = std::move(jail).error();
    if (!is_overlay_step(error.step)) {
      host.root = before;
      co_return tl::unexpected<Error>(std::move(error));
    }
    host.root = RootMode::bind;
    host.bind_root_why = error.what;
    auto bind_spec = probe_spec(filter, limits, "self-test-bind");
    jail = co_await Jail::build(host, std::move(bind_spec));
    if (!jail) {
      host.root = before;
      co_return tl::unexpected<Error>(std::move(jail).error());
    }
  }
  host.landlock_abi = (*jail)->built().landlock_abi;
  if ((*jail)->built().proc == ProcView::processes)
    log_warning(
        "jails show no cpuinfo, meminfo and other files about the machine in /proc, because the kernel's other entries "
        "cannot be hidden: {}",
        std::generic_category().message((*jail)->built().proc_error));
  auto proved = check_network(host, (*jail)->take_network_socket());
  (*jail)->kill();
  co_await (*jail)->exited();
  co_return proved;
}

}  // namespace

// A machine that does not show the namespace is no machine that fails: the probe still looks from inside.
Result<> check_network(Host& host, Result<Fd> netlink) {
  host.network_seen.clear();
  host.network_unseen_why.clear();
  auto view = netlink ? view_network(*std::move(netlink)) : Result<NetworkView>(tl::unexpected(netlink.error()));
  if (!view) {
    host.network_unseen_why = view.error().what;
    return {};
  }
  if (view->foreign.empty() && view->links == 1) {
    host.network_seen = counts_of(*view);
    return {};
  }
  if (view->foreign.empty()) view->foreign.push_back(fmt::format("{} links", view->links));
  return fail(
      Code::denied,
      fmt::format("the network namespace of a jail holds more than lo: {}", fmt::join(view->foreign, ", ")),
      "unload the kernel module that adds it to each namespace, or set net.core.fb_tunnels_only_for_init_net=1");
}

Task<Result<>> test_host(Host& host, int directory, const std::shared_ptr<const policies::SeccompFilter>& filter,
                         const policies::Limits& limits) {
  if (host.identity == Identity::separated) {
    auto mapped =
        co_await host.jailer.probe_idmap(directory, host.daemon_uid, host.daemon_gid, host.ids.first_runner());
    host.map_workspace_ids = mapped.has_value();
    if (!mapped) host.no_idmap_why = mapped.error().what;
  } else {
    host.map_workspace_ids = false;
    host.no_idmap_why = "the daemon runs unprivileged";
  }
  CO_CHECKED(co_await find_root_mode(host, filter, limits));

  Request request;
  request.id = "self-test";
  request.spec = probe_spec(filter, limits, "self-test");
  request.seccomp_profile = "self-test";
  request.workspace.directory = directory;
  CO_TRY(Report report, co_await execute(host, std::move(request)));
  if (report.outcome != Outcome::ok || !report.value || !report.value->is_array())
    co_return fail(Code::denied, fmt::format("the probe in a jail ended with outcome {} {} {}",
                                             outcome_name(report.outcome), report.message, report.err.text));
  if (!report.value->empty())
    co_return fail(Code::denied,
                   fmt::format("protections that a jail on this machine does not have: {}", report.value->dump()),
                   "use another host or another seccomp profile: the daemon does not execute code here");
  std::string missing;
  for (int i = 0; i < kNamespaceCount; i++) {
    if (report.receipt.applied.own_namespaces[static_cast<size_t>(i)]) continue;
    missing += ' ';
    missing += namespace_label(i);
  }
  if (!missing.empty()) co_return fail(Code::denied, "namespaces that a jail shares with the daemon:" + missing);
  co_return Result<>{};
}

}  // namespace jail
