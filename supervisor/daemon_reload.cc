// Reload of policies and catalog, for SIGHUP and D-Bus. Either all policies are replaced or none. Policies under which
// the self-test of jails fails are not used.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "jail/self_test.h"
#include "supervisor/daemon.h"
#include "supervisor/open_files.h"

namespace {

std::string with_hint(const Error& error) { return error.what + (error.hint.empty() ? "" : "; ") + error.hint; }

}  // namespace

Task<Result<>> Daemon::test_jails(const policies::Store& policies) {
  const auto policy = standard_policy(policies);
  CO_CHECKED(co_await jail::test_host(*host_, prepared_.self_test.get(), policy->filter, policy->limits.standard));
  log_info("jails: {} ids, {} root, Landlock ABI {}, cgroups {}, mapped workspace ids {}",
           host_->identity == jail::Identity::separated ? "separated" : "shared",
           host_->root == jail::RootMode::overlay ? "overlay" : "bind", host_->landlock_abi,
           host_->cgroups ? host_->cgroups->path() : "none (" + host_->no_cgroups_why + ")",
           host_->map_workspace_ids ? "yes" : "no (" + host_->no_idmap_why + ")");
  co_return Result<>{};
}

Task<> Daemon::reload_on_signal() { (void)co_await reload(); }  // reload_once() has logged the error

// One reload runs at a time. It runs to its end even if its caller is cancelled. A reload that is asked for meanwhile
// runs afterwards.
Task<Result<>> Daemon::reload() {
  auto asked = std::make_shared<Reload>();
  reloads_asked_.push_back(asked);
  if (!std::exchange(reloading_, true)) tasks_.spawn(reload_until_nobody_asks());
  co_await asked->done;
  co_return asked->result;
}

Task<> Daemon::reload_until_nobody_asks() {
  co_await serving_;
  while (!reloads_asked_.empty()) {
    auto answered = std::exchange(reloads_asked_, {});
    const Result<> result = co_await reload_once();
    for (const auto& one : answered) {
      one->result = result;
      one->done.fire();
    }
  }
  reloading_ = false;
}

Task<Result<>> Daemon::reload_once() {
  service_.reloading();
  co_await discovery_->reload();
  Result<> adopted = co_await adopt_policies();
  if (adopted) {
    apply_policies();
    log_notice("policies reloaded: {}", fmt::join(prepared_.policies.names(), ", "));
  } else {
    log_error("the policies stay as they were: {}", with_hint(adopted.error()));
  }
  service_.ready(host_->unfit ? "serving, but no executions: the self-test of jails fails, see the log"
                 : adopted    ? "serving"
                              : "serving; the last reload failed, see the log");
  if (bus_) bus_->reloaded(adopted ? std::string() : adopted.error().what);
  co_return adopted;
}

Result<policies::Store> Daemon::read_policies() const {
  const Doing doing(LoopWork::policies);
  TRY(policies::Store fresh, prepared_.policies.read_anew());
  for (const auto& warning : fresh.warnings()) log_warning("{}", warning);
  CHECKED(check_open_files(fresh));
  return fresh;
}

// Policies under which the self-test of jails fails are not used. If the self-test fails under the old policies, too,
// the host has changed. Then executions are refused until a reload passes the self-test; other requests are served.
Task<Result<>> Daemon::adopt_policies() {
  CO_TRY(policies::Store fresh, read_policies());
  Result<> tested = co_await test_jails(fresh);
  if (tested) {
    host_->unfit.reset();
    prepared_.policies = std::move(fresh);
    co_return tested;
  }
  const Result<> before = co_await test_jails(prepared_.policies);
  if (before) {
    host_->unfit.reset();
    co_return tl::unexpected<Error>(
        std::move(tested).error().within("the self-test of jails fails under the new policies"));
  }
  const Error& why = before.error();
  host_->unfit = Error{Code::denied,
                       0,
                       "executions are denied, because the self-test of jails fails here: " + why.what,
                       "ask the administrator: once that is mended, `systemctl reload warder` looks again",
                       {}};
  pool_->clear();
  sessions_->end_all("the self-test of jails fails here");
  log_error("executions are denied from now on, until a reload finds that jails hold again: {}", with_hint(why));
  co_return tl::unexpected<Error>(Error(why).within("the self-test of jails fails here, under the old policies, too"));
}

void Daemon::apply_policies() {
  const auto offered_others = registry_->apply_policies();
  server_->lists_changed(mcp::Changed::tools, [&offered_others](const std::shared_ptr<mcp::ConnectionUser>& user) {
    return std::any_of(offered_others.begin(), offered_others.end(),
                       [&](const auto& member) { return member == user; });
  });
  pool_->clear();
  approvals_.refuse_all("the policies were loaded anew: call again");
  if (calls_) calls_->questions.cancel_all(loop_);
  sessions_->end_all("the policies were loaded anew");
  auto revoked = [](const std::shared_ptr<mcp::ConnectionUser>& user) { return tenants::member_of(user).revoked; };
  for (auto& listener : listeners_) listener->close_if(revoked);
}
