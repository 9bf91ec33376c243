#include "supervisor/daemon.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>

#include <malloc.h>
#include <unistd.h>

#include "supervisor/base/version.h"
#include "supervisor/executions/jail_spec.h"
#include "supervisor/privacy/pii_response_filter.h"
#include "supervisor/tenants/vault.h"
#include "supervisor/tools/call_audit.h"
#include "supervisor/tools/catalog/catalog_resources.h"
#include "supervisor/tools/execution/get_execution_stats.h"
#include "supervisor/tools/execution/session_calls.h"
#include "supervisor/tools/execution/shown_limits.h"
#include "supervisor/tools/nearest_tool.h"
#include "supervisor/tools/skills/skill_resources.h"
#include "supervisor/tools/workspace/workspace_tools.h"
#include "supervisor/workspace_quotas.h"

namespace {

using namespace std::chrono_literals;

constexpr uint32_t kMostExecutions = 128;    // of all tenants at once; each tenant's limit is in its policy
constexpr size_t kStubsBeforeReady = 2'000;  // tools: stubs of a larger catalog are written after the start
constexpr auto kDrainLimit = 40s;            // less than TimeoutStopSec= of the unit
constexpr auto kLastSpansLimit = 1s;         // to send the last spans to the collector

constexpr char kInstructions[] =
    "Run code in isolated, single-use jails next to your data instead of calling tools one by one: execute_code runs "
    "Python, JavaScript or shell, reads and writes files in a persistent /workspace, and returns only what the code "
    "computes. Filter and summarise large data in code; keep intermediate results in workspace files. "
    "write_workspace_file, read_workspace_file, list_workspace_files and delete_workspace_file reach the same files "
    "from outside. search_tools finds other servers' tools and saved skills without all definitions in your context; "
    "save_skill keeps code that works, for `from skills import name` in later runs; sanitize_pii, and tokenize_pii "
    "in code, put tokens in the place of personal data before you read it.";

// An eighth of the machine's memory, at most 1 GiB: waiting jails only save time.
jail::Pool::Limits pool_limits() {
  auto memory = static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  return {std::min<uint64_t>(memory / 8, 1 << 30), static_cast<uint32_t>(policies::HostCapacity::here().cpus)};
}

}  // namespace

struct Daemon::Signals {
  struct Box {
    uv_signal_t handle;
    std::function<void()> fn;
  };
  std::vector<UvPtr<Box>> boxes;

  void on(Loop& loop, int number, std::function<void()> fn) {
    UvPtr<Box> box(new Box);
    box->fn = std::move(fn);
    box->handle.data = box.get();
    uv_signal_init(loop.uv(), &box->handle);
    uv_signal_start(
        &box->handle,
        [](uv_signal_t* h, int) {
          const Doing doing(LoopWork::other);
          static_cast<Box*>(h->data)->fn();
        },
        number);
    boxes.push_back(std::move(box));
  }
};

Daemon::Daemon(Prepared prepared)
    : prepared_(std::move(prepared)),
      admission_(loop_, kMostExecutions),
      executions_(loop_),
      approvals_(loop_),
      vaults_(loop_, [this](std::string tenant) { return open_vault(std::move(tenant)); }),
      tasks_(loop_) {}

Daemon::~Daemon() {
  tasks_.cancel_all();
  for (auto& listener : listeners_) listener->leave();
  listeners_.clear();  // closing a connection cancels its calls
  // Upstream servers that are ending: their jails are killed through host_, which is destroyed before loop_.
  loop_.cancel_all();
}

int Daemon::run() {
  // Each execution allocates and frees the same 256 KiB. malloc(3) must not give them back to the kernel each time.
  ::mallopt(M_TRIM_THRESHOLD, 16 << 20);
  watch_signals();
  tasks_.spawn(serve());
  loop_.run();
  return status_;
}

void Daemon::watch_signals() {
  signals_ = std::make_unique<Signals>();
  std::signal(SIGPIPE, SIG_IGN);
  for (int number : {SIGTERM, SIGINT}) {
    signals_->on(loop_, number, [this, number] {
      if (std::exchange(ending_, true)) return loop_.stop();  // a second signal ends at once
      log_notice("{}: ending after the running calls", number == SIGTERM ? "SIGTERM" : "SIGINT");
      tasks_.spawn(drain(kDrainLimit));
    });
  }
  signals_->on(loop_, SIGHUP, [this] { tasks_.spawn(reload_on_signal()); });
}

void Daemon::end_after_running_calls() {
  if (!std::exchange(ending_, true)) tasks_.spawn(drain(kDrainLimit));
}

void Daemon::open_bus() {
  if (prepared_.options.bus == "off") return;
  bus::DaemonServices services{
      loop_, executions_, approvals_, *pool_, *registry_, members_, prepared_.policies, prepared_.identity.uid,
      {},    {},          {},         {},     {},         {}};
  services.reload = [this] { return reload(); };
  services.drain = [this] { end_after_running_calls(); };
  services.draining = [this] { return ending_; };
  services.forget_searches = [this](const std::string& tenant) { learning_.forget(tenant); };
  services.doctor = [this] { return examine(); };
  services.disk_problem = [this] { return state_disk_->trouble() ? state_disk_->trouble()->what : std::string(); };
  bus_ = std::make_unique<bus::Service>(std::move(services), prepared_.options.bus);
}

void Daemon::open_approvals() {
  using What = calls::Approvals::What;
  approvals_.reachable = [this] { return bus_ && bus_->connected(); };
  approvals_.told = [this](const calls::Approval& approval, What what, std::string_view how) {
    if (what == What::asked) {
      log_notice("approval {}: tenant {} waits for {} ({})", approval.id, approval.tenant, approval.tool,
                 approval.rule);
    } else {
      log_notice("approval {}: {}", approval.id, how);
    }
    if (!approval.execution.empty()) executions_.waits(approval.execution, approvals_.of(approval.execution));
    if (bus_) bus_->approval(approval, what, how);
  };
}

void Daemon::fail_to_serve(const Error& error) {
  log_error("{}{}{}", error.what, error.hint.empty() ? "" : "; ", error.hint);
  status_ = 1;
  loop_.stop();
}

Task<> Daemon::serve() {
  auto started = co_await start_serving();
  if (!started) fail_to_serve(started.error());
}

Task<Result<>> Daemon::start_serving() {
  auto lost = [this] { tasks_.spawn(end_without_jailer()); };
  CO_TRY(jailer_, jail::JailerClient::start(loop_, std::move(prepared_.jailer), lost));
  host_.reset(new jail::Host{.loop = loop_, .jailer = *jailer_, .ids = prepared_.ids});
  host_->cgroups = prepared_.cgroups ? &*prepared_.cgroups : nullptr;
  host_->no_cgroups_why = prepared_.no_cgroups_why;
  host_->identity = prepared_.identity.root ? jail::Identity::separated : jail::Identity::shared;
  host_->daemon_uid = prepared_.identity.uid;
  host_->daemon_gid = prepared_.identity.gid;
  CO_CHECKED(co_await test_jails(prepared_.policies));

  CO_TRY(tenants::Registry registry, tenants::Registry::open(loop_, prepared_.state.get(), prepared_.policies));
  registry_ = std::make_unique<tenants::Registry>(std::move(registry));
  registry_->on_quota([this](std::shared_ptr<tenants::Tenant> tenant) {
    tasks_.spawn(hold_quota_by_kernel(*jailer_, std::move(tenant)));
  });
  pool_ = std::make_unique<jail::Pool>(*host_, pool_limits());
  sessions_ = std::make_unique<executions::Sessions>(*host_, *pool_);
  CO_CHECKED(open_journal());
  CO_TRY(vault_disk_, WorkerThread::start(loop_));
  CO_TRY(skill_disk_, WorkerThread::start(loop_));
  watch_state_disk();
  open_traces();
  CO_CHECKED(open_catalog());
  open_approvals();
  open_upstream();
  open_skills();
  // Writing the stubs of a large catalog takes seconds. Until then, imports ask the daemon for a stub ("stub_file").
  if (discovery_->current()->size() <= kStubsBeforeReady) {
    co_await show_servers();
  } else {
    tasks_.spawn(show_servers());
  }
  register_tools();
  CO_CHECKED(listen());
  open_bus();
  CO_CHECKED(open_metrics());
  tasks_.spawn(expire_workspaces());
  service_.start_watchdog(loop_);
  service_.ready("serving");
  loop_.busy_time().forget();  // no client waited during the start
  log_notice("warderd {} is ready", kWarderVersion);
  serving_.fire();
  co_return Result<>{};
}

// A client that connects will run code soon: the pool builds jails, so that the first call finds one. No jail is built
// for TypeScript, because it holds the library that reads types and takes twice the memory. The first TypeScript call
// takes a JavaScript jail.
void Daemon::expect_executions(const policies::Policy& policy) {
  for (auto language : jail::kLanguages) {
    if (language != jail::Language::typescript && policy.allows_language(jail::language_name(language)))
      pool_->expect(executions::make_spec(policy, language, policy.limits.standard), policy.pool);
  }
}

// The journal holds the records that earlier daemons acknowledged. The daemon does not serve without a journal.
Result<> Daemon::open_journal() {
  const journal::Settings& settings = prepared_.options.journal;
  TRY(journal_, journal::Journal::open(loop_, prepared_.options.state + "/journal", settings));
  if (!journal_->set_aside().empty()) log_error("journal: {}", journal_->set_aside());
  journal_->on_trouble([](const std::string& trouble) {
    log_error("journal: {}; what is recorded from now on is lost with the old file: restart the daemon", trouble);
  });
  if (journal_->interrupted() > 0)
    log_notice("journal: {} executions were interrupted when the daemon last ended", journal_->interrupted());
  log_info("journal: {}; audit chain: {}", settings.durability == journal::Durability::durable ? "durable" : "buffered",
           journal_->audit_head());
  return {};
}

Result<> Daemon::open_catalog() {
  auto opened = discovery::Discovery::open(loop_, prepared_.options.catalog);
  if (!opened) {
    log_error("serving without tool definitions: {}", opened.error().what);
    opened = discovery::Discovery::open(loop_, "");
  }
  discovery_ = *std::move(opened);
  TRY(servers_, discovery::StubTree::start(loop_, std::move(prepared_.servers)));
  discovery_->on_change([this] { tasks_.spawn(show_servers()); });
  learning_.keep_in(prepared_.options.state + "/searches");
  tasks_.spawn(learning_.keep(loop_));
  tasks_.spawn(learning_.read_thesaurus(loop_));
  return {};
}

Task<> Daemon::expire_workspaces() {
  registry_->on_removed([this](const std::string& name) {
    skills_->forget(name);
    vaults_.forget(name);
    learning_.forget(name);
    journal_->forget(name);
  });
  for (;;) {
    const auto next = co_await registry_->expire_workspaces();
    co_await sleep_for(loop_, next);
  }
}

// Writes the stubs of the current catalog. If they changed, waiting jails are dropped: they hold the old stubs.
Task<> Daemon::show_servers() {
  auto shown = co_await servers_->show(discovery_->current());
  if (!shown) log_warning("{}", shown.error().what);
  if (shown && *shown) pool_->clear();
}

void Daemon::open_skills() {
  skills::Shared shared;
  if (!prepared_.options.skills.empty()) {
    if (auto loaded = skills::Shared::load(prepared_.options.skills)) {
      shared = *std::move(loaded);
    } else {
      log_error("serving without shared skills: {}", loaded.error().what);
    }
  }
  for (const std::string& problem : shared.problems()) log_warning("{}", problem);
  auto changed = [this](const std::string& tenant) {
    auto concerns = [account = tenant.substr(0, tenant.find('/'))](const std::shared_ptr<void>& user) {
      return static_cast<tenants::Member*>(user.get())->tenant->account() == account;
    };
    server_->lists_changed(mcp::Changed::resources, concerns);
    server_->lists_changed(mcp::Changed::prompts, concerns);
  };
  skills_ = std::make_unique<skill_stores::TenantSkills>(*host_, *pool_, *skill_disk_, std::move(shared), changed);
}

void Daemon::register_tools() {
  mcp::ServerInfo info;
  info.name = "warder";
  info.version = kWarderVersion;
  info.title = "Warder";
  info.instructions = kInstructions;
  server_ = std::make_unique<mcp::Server>(loop_, std::move(info));
  auto catalog_of = [this] { return discovery_->current(); };
  auto changed = [this](const tenants::Tenant& tenant, const tenants::Changes& changes) {
    changes_->tell(tenant, changes);
  };
  changes_ = std::make_unique<tools::ResourceChanges>(loop_, *server_);
  server_->watch_resources(
      [this](const std::shared_ptr<void>& user, const Json& meta, const std::string& uri) -> std::shared_ptr<void> {
        const auto tenant = tenant_of(*static_cast<tenants::Member*>(user.get()), meta);
        return tenant ? changes_->watch(*tenant, uri) : nullptr;
      });
  auto tenant_of = [this](const mcp::RequestContext& context) {
    return this->tenant_of(context.user_as<tenants::Member>(), context.meta);
  };
  guest_calls_ = std::make_unique<calls::GuestCalls>(host_->json);
  execute_.reset(new tools::ExecuteEnvironment{*host_, admission_, executions_, *pool_, *sessions_, *guest_calls_,
                                               *journal_, catalog_of, tenant_of, changed,
                                               spans_ ? &spans_->queue() : nullptr});
  server_->set_nearest_tool(tools::nearest_tool);
  tools::add_execute_code(*server_, *execute_);
  tools::add_session_calls(*guest_calls_);
  auto asker_of = [tenant_of](const mcp::RequestContext& context) -> Result<tools::Asker> {
    TRY(std::shared_ptr<tenants::Tenant> tenant, tenant_of(context));
    return tools::Asker{std::move(tenant), context.user_as<tenants::Member>().policy};
  };
  const tools::OperationRegistry operations(*server_, *guest_calls_, asker_of);
  tools::add_workspace_tools(operations, *changes_);
  server_->add_resources(tools::workspace_resources(tenant_of, *journal_));
  server_->add_completion(tools::workspace_completion(tenant_of));
  auto library_of = [this](tenants::Tenant& tenant) { return skills_->library(tenant); };
  tools::add_catalog_tools(operations, catalog_of, library_of, learning_, *servers_);
  tools::add_catalog_resources(*server_, catalog_of, asker_of);
  tools::add_call_tool(operations, *calls_);
  tools::add_get_execution_stats(operations, *journal_, catalog_of, library_of, *sessions_);
  server_->observe_calls(tools::audit_calls(*journal_));
  tools::add_pii_tools(operations, vaults_, loop_);
  register_pii(asker_of);
  tools::add_skill_tools(operations, *skills_);
  tools::add_skill_resources(*server_, *skills_, asker_of);
}

// The tenant's own workspace, or the one that a trusted client names.
Result<std::shared_ptr<tenants::Tenant>> Daemon::tenant_of(tenants::Member& member, const Json& meta) {
  const auto named = meta.is_object() ? meta.find(tools::kWorkspaceKey) : meta.end();
  if (named == meta.end()) return member.tenant;
  if (!named->is_string()) return fail(Code::invalid, "_meta: org.warder/workspace is not a string");
  return registry_->workspace(member, named->get_ref<const std::string&>());
}

Task<privacy::PiiVaults::Made> Daemon::open_vault(std::string name) {
  const auto tenant = registry_->find(name);  // while this reference exists, the tenant's folder is not removed
  if (!tenant) co_return fail(Code::internal, "no tenant is named '" + name + "'");
  auto opening = tenants::SealedVault::open(loop_, *vault_disk_, tenant->directory(), prepared_.key.of_vault(name));
  auto vault = co_await std::move(opening);
  if (!vault) co_return tl::unexpected<Error>(std::move(vault).error());
  if (!(*vault)->damage().empty()) log_error("tenant {}: the vault for personal data: {}", name, (*vault)->damage());
  co_return std::unique_ptr<policies::PiiVault>(*std::move(vault));
}

void Daemon::register_pii(const tools::AskerOf& asker_of) {
  auto user_of = [asker_of](const mcp::RequestContext& context) -> Result<privacy::PiiUser> {
    TRY(tools::Asker asker, asker_of(context));
    return privacy::PiiUser{asker.tenant->name(), asker.policy->pii, asker.tenant};
  };
  server_->set_tool_choice([](const std::shared_ptr<void>& user) -> std::function<bool(std::string_view)> {
    const auto policy = static_cast<tenants::Member*>(user.get())->policy;
    if (policy->tools.every) return nullptr;
    return [policy](std::string_view name) { return policy->tools.offers(name); };
  });
  server_->set_tool_variants(
      [](const std::shared_ptr<void>& user) {
        return tools::shown_limits(*static_cast<tenants::Member*>(user.get())->policy);
      },
      tools::show_limits);
  auto reader_of = [user_of](const mcp::RequestContext& context) -> Result<privacy::PiiUser> {
    if (auto user = user_of(context)) return user;
    const auto& member = context.user_as<tenants::Member>();  // the named workspace was refused: filter the refusal
    return privacy::PiiUser{member.tenant->name(), member.policy->pii, member.tenant};
  };
  server_->set_json_work(host_->json);
  server_->set_loop_shares(host_->shares);
  server_->set_response_filter(privacy::pii_response_filter(reader_of, vaults_));
}

Task<> Daemon::drain(std::chrono::milliseconds most) {
  service_.stopping();
  approvals_.close("warderd is ending: call again in some seconds");
  if (calls_) calls_->questions.close(loop_);
  for (auto& listener : listeners_) {
    listener->stop();
    listener->pause();
  }
  admission_.close(Error{Code::unavailable,
                         0,
                         "warderd is ending and takes no new calls; this one did not run",
                         "call again in some seconds, when it has been restarted",
                         {}});
  if (server_) {
    server_->drain();
    Deadline limit(loop_, most, [this, most] {
      log_warning("calls still run after {} s: ending them", most.count() / 1000);
      loop_.stop();
    });
    co_await server_->drained();
    if (store_) co_await store_->flushed();
    if (spans_) co_await spans_->finish(kLastSpansLimit);
  }
  learning_.write_all();
  log_notice("ended");
  loop_.stop();
}
