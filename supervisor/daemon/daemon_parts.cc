#include "supervisor/daemon/daemon_parts.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "supervisor/base/log.h"
#include "supervisor/base/version.h"
#include "supervisor/daemon/audit_anchors.h"
#include "supervisor/daemon/message_ids.h"
#include "supervisor/daemon/workspace_quotas.h"
#include "supervisor/executions/runs/named_execution.h"
#include "supervisor/tenants/proposals/interrupted_commits.h"

namespace {

using namespace std::chrono_literals;

constexpr uint32_t kMaxExecutions = 128;     // of all tenants at once; each tenant's limit is in its policy
constexpr size_t kStubsBeforeReady = 2'000;  // tools: stubs of a larger catalog are written after the start
constexpr auto kLastSpansLimit = 1s;         // to send the last spans to the collector
constexpr auto kMaxLoading = 300ms;          // READY=1 waits at most this long for stored tool definitions
constexpr auto kThesaurusAfter = 10s;        // without tools to find: sooner for a search

constexpr char kInstructions[] =
    "Run code in isolated, single-use jails next to your data instead of calling tools one by one: execute_code runs "
    "Python, JavaScript or shell with files in a persistent /workspace, and returns only what the code computes. "
    "Filter and summarise large data in code; keep intermediate results in files. search_tools finds other servers' "
    "tools and saved skills; save_skill keeps code for `from skills import name`. Long work: a finished step of "
    "warder.workflow in code is kept over failures and restarts, and does not run again. sanitize_pii, and "
    "tokenize_pii in code, put tokens in the place of personal data before you read it.";

mcp::ServerInfo server_info() {
  mcp::ServerInfo info;
  info.name = "warder";
  info.version = kWarderVersion;
  info.title = "Warder";
  info.instructions = kInstructions;
  return info;
}

// An eighth of the machine's memory, at most 1 GiB: waiting jails only save time.
jail::Pool::Limits pool_limits() {
  auto memory = static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  return {std::min<uint64_t>(memory / 8, 1 << 30), static_cast<uint32_t>(policies::HostCapacity::here().cpus)};
}

std::unique_ptr<traces::Exporter> make_exporter(Loop& loop, Options& options) {
  if (!options.traces) return nullptr;
  log_info("traces: spans go to {}", options.traces->shown);
  return std::make_unique<traces::Exporter>(loop, *std::exchange(options.traces, std::nullopt));
}

upstream::UpstreamServers::Settings upstream_settings(Prepared& prepared, WorkerThread& disk,
                                                      upstream::ServerNetwork& network) {
  upstream::UpstreamServers::Settings settings;
  settings.servers = std::exchange(prepared.options.servers, {});
  settings.definitions = prepared.upstream.get();
  settings.nobody = {"", prepared.policies.standard(), -1, prepared.upstream.get()};
  settings.disk = &disk;
  settings.network = &network;
  settings.login_key = prepared.key.of_logins();
  if (!settings.servers.empty()) log_info("upstream servers: {}", settings.servers.size());
  return settings;
}

std::vector<LogField> fields_of(const calls::Approval& approval) {
  return {{"WARDER_APPROVAL_ID", approval.id},
          {"WARDER_EXECUTION_ID", approval.execution},
          {"WARDER_TENANT", approval.tenant},
          {"WARDER_TOOL", approval.tool},
          {"WARDER_RULE", approval.rule}};
}

}  // namespace

Result<std::unique_ptr<DaemonParts>> DaemonParts::open(Loop& loop, Prepared& prepared, jail::Host& host,
                                                       DaemonControls controls) {
  TRY(OpenedParts opened, OpenedParts::open(loop, prepared));
  return std::unique_ptr<DaemonParts>(new DaemonParts(loop, prepared, host, std::move(controls), std::move(opened)));
}

DaemonParts::DaemonParts(Loop& loop, Prepared& prepared, jail::Host& host, DaemonControls controls, OpenedParts opened)
    : loop_(loop),
      prepared_(prepared),
      host_(host),
      controls_(std::move(controls)),
      opened_(std::move(opened)),
      spans_(make_exporter(loop, prepared.options)),
      disk_floor_(loop, *opened_.skill_disk, host.disk_users, prepared.options.state),
      state_disk_(
          loop, *opened_.skill_disk, prepared.options.state, [this] { return journal_.failing(); },
          [this] {
            const auto& trouble = state_disk_.trouble();
            controls_.show_trouble(trouble ? trouble->what : std::string());
          },
          [this](bool all) { return disk_floor_.end_jails(all ? DiskFloor::Which::all : DiskFloor::Which::writers); }),
      proposals_(loop),
      admission_(loop, kMaxExecutions),
      executions_(loop),
      busiest_tenants_(executions_),
      approvals_(loop),
      approvals_noted_(
          approvals_.observe({.changed = [this](const calls::Approval& approval, calls::Approvals::What what,
                                                std::string_view how) { note_approval(approval, what, how); }})),
      pool_(host, pool_limits()),
      expected_jails_(pool_, members_),
      timeline_(loop, executions_, pool_),
      sessions_(host, pool_, proposals_),
      guest_calls_(host.work),
      vaults_(loop,
              [this](tenants::TenantId id) {
                return open_vault(loop_, *opened_.vault_disk, registry_, prepared_.key, std::move(id));
              }),
      egress_(loop, prepared.options.egress_socket, *opened_.policy_thread),
      server_network_(loop, egress_, journal_),
      upstream_(host, upstream_settings(prepared, *opened_.skill_disk, server_network_)),
      calls_{.loop = loop,
             .work = host.work,
             .upstream = upstream_,
             .journal = journal_,
             .catalog_of = [this] { return discovery_.current(); },
             .vaults = vaults_,
             .learning = learning_,
             .approvals = approvals_,
             .spans = spans_queue()},
      skills_(host, pool_, *opened_.skill_disk, std::move(prepared.skills),
              [this](const tenants::TenantId& tenant) { skills_changed(tenant); }),
      workflow_rows_(journal_),
      workflows_(workflow_rows_),
      task_rows_(journal_, journal::TaskTable::tasks),
      task_store_(loop, task_rows_),
      named_rows_(journal_, journal::TaskTable::named_executions),
      named_(loop, named_rows_, runs::named_limits()),
      tenant_data_({.loop = loop,
                    .registry = registry_,
                    .expected_jails = expected_jails_,
                    .upstream = upstream_,
                    .skills = skills_,
                    .vaults = vaults_,
                    .learning = learning_,
                    .recent_code = recent_code_,
                    .proposals = proposals_,
                    .workflows = workflows_,
                    .tasks = task_store_,
                    .named = named_,
                    .busiest_tenants = busiest_tenants_}),
      execute_{.host = host,
               .admission = admission_,
               .executions = executions_,
               .recent_code = recent_code_,
               .pool = pool_,
               .sessions = sessions_,
               .calls = guest_calls_,
               .upstream_calls = calls_,
               .egress = egress_,
               .journal = journal_,
               .tasks = task_store_,
               .named = named_,
               .workflows = workflows_,
               .catalog_of = [this] { return discovery_.current(); },
               .requester_of = [this](const mcp::RequestContext& context) { return registry_.requester_of(context); },
               .stateless_requester_of =
                   [this](const mcp::RequestContext& context) { return registry_.stateless_requester(context); },
               .proposals = proposals_,
               .files_changed = [this](const tenants::Tenant& tenant,
                                       const tenants::Changes& changes) { changes_.tell(tenant, changes); },
               .refusal = [this] { return state_disk_.refusal(); },
               .spans = spans_queue()},
      server_(loop, server_info()),
      changes_(loop, server_),
      doors_({.loop = loop,
              .prepared = prepared,
              .server = server_,
              .registry = registry_,
              .members = members_,
              .expected_jails = expected_jails_,
              .fd_store = opened_.fd_store.get()}),
      cluster_({.loop = loop,
                .prepared = prepared,
                .host = host,
                .controls = controls_,
                .server = server_,
                .doors = doors_,
                .tenant_data = tenant_data_,
                .registry = registry_,
                .members = members_,
                .admission = admission_,
                .executions = executions_,
                .sessions = sessions_,
                .proposals = proposals_,
                .tasks = task_store_,
                .named = named_,
                .workflows = workflows_,
                .skills = skills_,
                .catalog_changed = [this] { tasks_.spawn(discovery_.refresh()); }}),
      interrupted_runs_({.loop = loop,
                         .identity = prepared.identity,
                         .tokens = doors_.tokens_in_force(),
                         .registry = registry_,
                         .tasks = task_store_,
                         .workflows = workflows_,
                         .execute = execute_,
                         .cluster = cluster_}),
      removal_({.loop = loop,
                .registry = registry_,
                .journal = journal_,
                .executions = executions_,
                .sessions = sessions_,
                .disconnect =
                    [this](const std::string& tenant) {
                      doors_.disconnect_tenant(tenant);
                      tenant_data_.close_account(tenant);
                    },
                .forget = [this](const tenants::TenantId& id) { tenant_data_.forget(id); },
                .leave_cluster = [this](std::string tenant) { return cluster_.leave(std::move(tenant)); }}),
      examination_({.host = host,
                    .prepared = prepared,
                    .policy_thread = *opened_.policy_thread,
                    .pool = pool_,
                    .journal = journal_,
                    .state_disk = state_disk_,
                    .indexes = *opened_.indexes,
                    .egress = egress_,
                    .spans = spans_.get(),
                    .http_use = [this] { return doors_.http_use(); },
                    .cluster = [this] { return cluster_.examine(); }}),
      metrics_({.loop = loop,
                .prepared = prepared,
                .state_disk = state_disk_,
                .journal = journal_,
                .server = server_,
                .executions = executions_,
                .busiest_tenants = busiest_tenants_,
                .pool = pool_,
                .approvals = approvals_,
                .upstream = upstream_,
                .egress = egress_,
                .registry = registry_,
                .indexes = *opened_.indexes,
                .members = members_,
                .tasks = task_store_,
                .proposals = proposals_,
                .doors = doors_,
                .cluster = cluster_,
                .spans = spans_queue(),
                .has_reload_failed = [this] { return reload_failed_; }}),
      bus_(make_bus()),
      reloadables_(all_reloadables()),
      tasks_(loop) {
  connect_parts();
  register_tools();
  adopt_tasks();
}

DaemonParts::~DaemonParts() { disconnect(); }

void DaemonParts::disconnect() {
  tasks_.cancel_all();
  interrupted_runs_.cancel();
  cluster_.disconnect();
  doors_.close();
}

void DaemonParts::connect_parts() {
  registry_.on_quota([this](std::shared_ptr<tenants::Tenant> tenant) {
    tasks_.spawn(hold_quota_by_kernel(host_.jailer, std::move(tenant)));
  });
  proposals_.on_files_changed(execute_.files_changed);
  registry_.on_removed([this](const tenants::TenantId& id) {
    tenant_data_.forget(id);
    journal_.forget(id.text());
  });
  workflows_.refuse_steps([this] { return state_disk_.refusal("no step can be recorded now"); });
  journal_.on_full([this] { return state_disk_.relieve(); });
  server_.set_work(host_.work);
  server_.set_loop_shares(host_.shares);
  discovery_.on_change([this] { tasks_.spawn(show_servers()); });
  discovery_.add_others([this] { return other_definitions(); });
  upstream_.on_change([this] { tasks_.spawn(discovery_.refresh()); });
}

discovery::ServerTools DaemonParts::other_definitions() const {
  discovery::ServerTools tools{upstream_.readings(), upstream_.unlearned(), {}};
  if (cluster_.rules()) tools.described = cluster_.rules()->definitions();
  return tools;
}

// Every part that follows a reload. New policies are effective already when the first one is called.
std::vector<DaemonParts::Reloadable> DaemonParts::all_reloadables() {
  const auto revoked = [](const std::shared_ptr<mcp::ConnectionUser>& user) {
    return tenants::member_of(user).revoked;
  };
  return {
      {"the tenants' members, and their lists of tools",
       [this] {
         const auto offered_others = registry_.apply_policies();
         server_.lists_changed(mcp::Changed::tools,
                               [&offered_others](const std::shared_ptr<mcp::ConnectionUser>& user) {
                                 return std::any_of(offered_others.begin(), offered_others.end(),
                                                    [&](const auto& member) { return member == user; });
                               });
       }},
      {"waiting jails", [this] { expected_jails_.replace(); }},
      {"waiting approvals", [this] { approvals_.refuse_all("the policies were reloaded: call again"); }},
      {"questions of upstream servers", [this] { calls_.questions.cancel_all(loop_); }},
      {"sessions", [this] { sessions_.end_all("the policies were reloaded"); }},
      {"tokens", [this] { doors_.adopt_tokens(); }},
      {"connections of peers without a tenant", [this, revoked] { doors_.disconnect_if(revoked); }},
  };
}

void DaemonParts::adopt_policies() {
  const NamedWork named_work(LoopWork::policies);
  for (const Reloadable& part : reloadables_) {
    log_debug("reload: {}", part.name);
    part.adopt();
  }
}

Task<Result<std::shared_ptr<ReadConfiguration>>> DaemonParts::read_configuration() {
  return ::read_configuration(*opened_.policy_thread, prepared_.configuration.invocation, prepared_.policies,
                              prepared_.options.state, prepared_.held);
}

Task<> DaemonParts::publish_sockets() {
  const WorkerThread::Job job = [state = prepared_.options.state, held = prepared_.held] {
    return configuration::write_held_sockets(state, held);
  };
  const auto written = co_await opened_.policy_thread->run(job);
  if (!written) log_warning("warderd --check does not learn of the daemon's sockets: {}", written.error().what);
}

// The jailer got the folders of servers when it was started, and takes no further folder. A server in a jail that needs
// another folder stays as it was, or does not exist, until the restart. A start could read imported files as root; the
// servers of a file that the daemon's user may not read stay as they were, too.
std::vector<std::string> DaemonParts::adopt_servers(std::vector<upstream::ServerConfig> servers,
                                                    const std::vector<std::string>& unreadable_imports) {
  std::vector<std::string> at_restart;
  for (const auto& file : unreadable_imports) {
    at_restart.push_back(
        fmt::format("import: the daemon's user may not read {}: its servers stay as they were until a restart", file));
    for (auto& former : upstream_.imported_from(file)) {
      const bool is_named =
          std::any_of(servers.begin(), servers.end(), [&](const auto& server) { return server.name == former.name; });
      if (!is_named) servers.push_back(std::move(former));
    }
  }
  std::erase_if(servers, [&](upstream::ServerConfig& server) {
    const bool is_shown = server.folder.empty() || server.place != upstream::ServerConfig::RunPlace::jail ||
                          prepared_.server_folders.contains(server.folder);
    if (is_shown) return false;
    const auto former = upstream_.config_of(server.name);
    at_restart.push_back(
        fmt::format("servers.{}: its folder {} can be shown to jails only after a restart; until then {}", server.name,
                    server.folder, former ? "the server stays as it was" : "the server does not exist"));
    if (former) server = *former;
    return !former;
  });
  if (upstream_.adopt(std::move(servers), prepared_.policies.standard())) tasks_.spawn(discovery_.refresh());
  return at_restart;
}

configuration::FilesInForce DaemonParts::files_in_force() const {
  return configuration::files_of(prepared_.configuration.invocation, prepared_.options);
}

Task<> DaemonParts::answer_reload(std::string request, configuration::ReloadAnswer answer) {
  const WorkerThread::Job job = [state = prepared_.options.state, request = std::move(request),
                                 answer = std::move(answer)] {
    return configuration::write_reload_answer(state, request, answer);
  };
  const auto written = co_await opened_.policy_thread->run(job);
  if (!written) log_error("warderd --reload gets no answer: {}", written.error().what);
}

void DaemonParts::end_executions(const std::string& why) {
  pool_.clear();
  sessions_.end_all(why);
}

void DaemonParts::show_reload(const std::string& problem) {
  reload_failed_ = !problem.empty();
  if (bus_) bus_->reloaded(problem);
}

// Before any client sees a workspace. A commit that cannot be completed stays as it is until its store is opened.
Task<> DaemonParts::complete_commits() {
  auto found = std::make_shared<proposals::InterruptedCommits>();
  WorkerThread* const thread = opened_.policy_thread.get();
  const WorkerThread::Job job = [found, thread, tenants = registry_.directory()]() -> Result<> {
    proposals::CommitHooks hooks;
    hooks.must_stop = [thread] { return thread->is_ending(); };
    TRY(*found, proposals::complete_interrupted_commits(tenants, hooks));
    return {};
  };
  const auto searched = co_await thread->run(job);
  if (!searched) log_error("interrupted commits: {}", searched.error().what);
  for (const Error& error : found->failed) log_error("an interrupted commit is not completed: {}", error.what);
  if (found->completed > 0)
    log_notice("{} commits of proposals were interrupted; they are completed", found->completed);
}

Task<> DaemonParts::begin() {
  co_await removal_.finish();
  co_await complete_commits();
  learning_.keep_in(prepared_.options.state + "/searches");
  tasks_.spawn(learning_.keep(loop_));
  const bool has_tools = !upstream_.empty() || discovery_.current()->size() > 0;
  tasks_.spawn(learning_.read_thesaurus(loop_, has_tools ? 0ms : kThesaurusAfter));
  upstream_.begin();
  if (!upstream_.empty()) {
    co_await upstream_.loaded(kMaxLoading);
    tasks_.spawn(discovery_.refresh());
  }
  // Writing the stubs of a large catalog takes seconds. Until then, imports ask the daemon for a stub ("stub_file").
  if (discovery_.current()->size() <= kStubsBeforeReady) {
    co_await show_servers();
  } else {
    tasks_.spawn(show_servers());
  }
}

Result<> DaemonParts::serve() {
  CHECKED(cluster_.join());
  CHECKED(doors_.listen());
  CHECKED(cluster_.listen());
  doors_.adopt_connections();
  if (bus_) bus_->start();
  CHECKED(metrics_.open());
  tasks_.spawn(tenant_data_.expire());
  tasks_.spawn(anchor_audit_hourly(loop_, journal_));
  interrupted_runs_.resume();
  return {};
}

void DaemonParts::refuse_calls() {
  approvals_.close("warderd is ending: call again in some seconds");
  calls_.questions.close(loop_);
  cluster_.stop_listening();
  doors_.refuse_calls();
  admission_.close(Error{Code::unavailable,
                         0,
                         "warderd is ending and takes no new calls; this call did not run",
                         "call again in some seconds, after the restart",
                         {}});
  server_.drain();
}

Task<> DaemonParts::finish_calls() {
  co_await server_.drained();
  co_await sessions_.finish();
  if (opened_.fd_store) co_await opened_.fd_store->flushed();
  if (spans_) co_await spans_->finish(kLastSpansLimit);
  learning_.write_all();
  co_await anchor_audit(journal_);
}

void DaemonParts::note_approval(const calls::Approval& approval, calls::Approvals::What what, std::string_view how) {
  if (what == calls::Approvals::What::asked) {
    log_fields(LogLevel::notice, kApprovalRequestedId,
               fmt::format("approval {}: tenant {} waits for approval of {} ({})", approval.id, approval.tenant,
                           approval.tool, approval.rule),
               fields_of(approval));
  } else {
    log_fields(LogLevel::notice, kApprovalSettledId, fmt::format("approval {}: {}", approval.id, how),
               fields_of(approval));
  }
  if (!approval.execution.empty()) executions_.waits(approval.execution, approvals_.of(approval.execution));
}

void DaemonParts::skills_changed(const tenants::TenantId& tenant) {
  auto concerns = [account = tenant.account](const std::shared_ptr<mcp::ConnectionUser>& user) {
    return tenants::member_of(user).tenant->account() == account;
  };
  server_.lists_changed(mcp::Changed::resources, concerns);
  server_.lists_changed(mcp::Changed::prompts, concerns);
}

// Writes the stubs of the current catalog. If they changed, other jails wait instead: the former ones hold the old
// stubs.
Task<> DaemonParts::show_servers() {
  auto shown = co_await servers_.show(discovery_.current());
  if (!shown) log_warning("{}", shown.error().what);
  if (shown && *shown) pool_.renew();
}
