#include "supervisor/daemon/daemon_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "supervisor/base/log.h"
#include "supervisor/daemon/absent_annexes.h"
#include "supervisor/daemon/client_doors.h"
#include "supervisor/daemon/metrics_sockets.h"
#include "supervisor/daemon/part_list.h"
#include "supervisor/daemon/tenant_removal.h"
#include "supervisor/executions/sessions.h"
#include "supervisor/tools/operation.h"
#include "supervisor/upstream/calls/guest_calls.h"
#include "supervisor/upstream/discovery/catalog_watch.h"
#include "supervisor/upstream/upstream_servers.h"

namespace {

template <class Interface>
std::vector<Interface*> newest_first(const Parts& parts) {
  auto all = parts.all<Interface>();
  std::reverse(all.begin(), all.end());
  return all;
}

}  // namespace

Result<std::unique_ptr<DaemonParts>> DaemonParts::open(Loop& loop, Prepared& prepared, jail::Host& host,
                                                       DaemonControls controls) {
  if (const std::string absent = absent_annexes_text(); !absent.empty()) log_notice("built without {}", absent);
  if (is_annex_absent("cluster")) prepared.passed.node.clear();  // nobody would accept there
  std::unique_ptr<DaemonParts> parts(new DaemonParts(loop, prepared, std::move(controls)));
  TRY(parts->parts_, Parts::open(all_parts(), parts->given(host)));
  parts->add_tools();
  return parts;
}

DaemonParts::DaemonParts(Loop& loop, Prepared& prepared, DaemonControls controls)
    : loop_(loop),
      prepared_(prepared),
      controls_(std::move(controls)),
      state_{.path = prepared.options.state,
             .tenants = prepared.state.get(),
             .servers = prepared.upstream.get(),
             .stubs = std::move(prepared.servers)},
      tasks_(loop) {}

DaemonParts::~DaemonParts() { disconnect(); }

Services DaemonParts::given(jail::Host& host) {
  Services services;
  services.add(&loop_);
  services.add(&host);
  services.add(&host.work);
  services.add(&prepared_);
  services.add(&prepared_.options);
  services.add(&prepared_.policies);
  services.add(&prepared_.key);
  services.add(&prepared_.skills);
  services.add(&controls_);
  services.add(&state_);
  services.add(&reload_);
  return services;
}

void DaemonParts::add_tools() {
  auto& registry = *parts_->find<tenants::Registry>();
  const tools::OperationRegistry operations(
      *parts_->find<mcp::Server>(), *parts_->find<calls::GuestCalls>(),
      [&registry](const mcp::RequestContext& context) { return registry.requester_of(context); });
  for (ToolSource* part : parts_->all<ToolSource>()) part->add_tools(operations);
}

WorkerThread& DaemonParts::files_thread() { return *parts_->find<StateThreads>()->files; }

// Removals of tenants first: no part may use what is left of them.
Task<Result<>> DaemonParts::begin() {
  co_await parts_->find<TenantRemoval>()->finish();
  for (Beginner* part : parts_->all<Beginner>()) CO_CHECKED(co_await part->begin());
  co_return Result<>{};
}

Result<> DaemonParts::serve() {
  for (Opener* part : parts_->all<Opener>()) CHECKED(part->serve());
  tasks_.spawn(tidy());
  return {};
}

Task<> DaemonParts::tidy() {
  for (;;) {
    auto next = std::chrono::seconds::max();
    for (Tidier* part : parts_->all<Tidier>()) {
      const auto next_due = co_await part->tidy();
      next = std::min(next, next_due);
    }
    co_await sleep_for(loop_, next);
  }
}

Task<> DaemonParts::reload_catalog() { return parts_->find<discovery::Discovery>()->reload(); }

void DaemonParts::adopt_policies() {
  const NamedWork named_work(LoopWork::policies);
  for (PolicyFollower* part : parts_->all<PolicyFollower>()) {
    log_debug("reload: {}", dynamic_cast<const Part&>(*part).name());
    part->adopt_policies();
  }
}

Task<Result<std::shared_ptr<ReadConfiguration>>> DaemonParts::read_configuration() {
  return ::read_configuration(files_thread(), prepared_.configuration.invocation, prepared_.policies,
                              prepared_.options.state, prepared_.listening);
}

Task<> DaemonParts::publish_sockets() {
  const WorkerThread::Job job = [state = prepared_.options.state, listening = prepared_.listening] {
    return configuration::write_held_sockets(state, listening);
  };
  const auto written = co_await files_thread().run(job);
  if (!written) log_warning("warderd --check does not learn of the daemon's sockets: {}", written.error().what);
}

// The jailer got the folders of servers when it was started, and takes no further folder. A server in a jail that needs
// another folder stays as it was, or does not exist, until the restart. A start could read imported files as root; the
// servers of a file that the daemon's user may not read stay as they were, too.
std::vector<std::string> DaemonParts::adopt_servers(std::vector<upstream::ServerConfig> servers,
                                                    const std::vector<std::string>& unreadable_imports) {
  auto* const it = parts_->find<upstream::UpstreamServers>();
  std::vector<std::string> at_restart;
  for (const auto& file : unreadable_imports) {
    at_restart.push_back(
        fmt::format("import: the daemon's user may not read {}: its servers stay as they were until a restart", file));
    for (auto& former : it->imported_from(file)) {
      const bool is_named =
          std::any_of(servers.begin(), servers.end(), [&](const auto& server) { return server.name == former.name; });
      if (!is_named) servers.push_back(std::move(former));
    }
  }
  std::erase_if(servers, [&](upstream::ServerConfig& server) {
    const bool is_shown = server.folder.empty() || server.location != upstream::ServerConfig::ServerHost::jail ||
                          prepared_.server_folders.contains(server.folder);
    if (is_shown) return false;
    const auto former = it->config_of(server.name);
    at_restart.push_back(
        fmt::format("servers.{}: its folder {} can be shown to jails only after a restart; until then {}", server.name,
                    server.folder, former ? "the server stays as it was" : "the server does not exist"));
    if (former) server = *former;
    return !former;
  });
  if (it->adopt(std::move(servers), prepared_.policies.standard()))
    tasks_.spawn(parts_->find<discovery::Discovery>()->refresh());
  return at_restart;
}

DaemonParts::Shortfalls DaemonParts::open_missing_http(Shortfalls missing) {
  return parts_->find<ClientDoors>()->open_missing(std::move(missing));
}

DaemonParts::Shortfalls DaemonParts::open_missing_metrics(Shortfalls missing) {
  return parts_->find<MetricsSockets>()->open_missing(std::move(missing));
}

configuration::FilesInForce DaemonParts::files_in_force() const {
  return configuration::files_of(prepared_.configuration.invocation, prepared_.options);
}

Task<> DaemonParts::answer_reload(std::string request, configuration::ReloadAnswer answer) {
  const WorkerThread::Job job = [state = prepared_.options.state, request = std::move(request),
                                 answer = std::move(answer)] {
    return configuration::write_reload_answer(state, request, answer);
  };
  const auto written = co_await files_thread().run(job);
  if (!written) log_error("warderd --reload gets no answer: {}", written.error().what);
}

void DaemonParts::end_executions(const std::string& why) {
  parts_->find<jail::Pool>()->clear();
  parts_->find<executions::Sessions>()->end_all(why);
}

void DaemonParts::show_reload(const std::string& problem) {
  reload_.problem = problem;
  for (ReloadObserver* part : parts_->all<ReloadObserver>()) part->reloaded(problem);
}

void DaemonParts::refuse_calls() {
  for (Drainer* part : newest_first<Drainer>(*parts_)) part->refuse_calls();
}

Task<> DaemonParts::finish_calls() {
  for (Drainer* part : newest_first<Drainer>(*parts_)) co_await part->finish_calls();
}

void DaemonParts::disconnect() {
  tasks_.cancel_all();
  if (!parts_) return;
  for (Drainer* part : newest_first<Drainer>(*parts_)) part->disconnect();
}
