#include "supervisor/daemon.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <csignal>

#include <malloc.h>
#include <unistd.h>

#include "jail/self_test.h"
#include "supervisor/base/version.h"
#include "supervisor/tenants/vault.h"
#include "supervisor/tools/accounts.h"
#include "supervisor/tools/catalog_tools.h"
#include "supervisor/tools/get_execution_stats.h"
#include "supervisor/tools/resource_changes.h"
#include "supervisor/tools/session_log.h"
#include "supervisor/tools/skill_resources.h"
#include "supervisor/tools/workspace_tools.h"

namespace {

using namespace std::chrono_literals;

constexpr uint32_t kMostExecutions = 128;  // of all tenants at once; each tenant's limit is in its policy
constexpr auto kDrainLimit = 40s;          // less than TimeoutStopSec= of the unit

constexpr char kInstructions[] =
    "Run code in isolated, single-use jails next to your data instead of calling tools one by one: execute_code runs "
    "Python, "
    "JavaScript or shell, reads and writes files in a persistent /workspace, and returns only what the code computes. "
    "Filter and "
    "summarise large data in code; keep intermediate results in workspace files. write_workspace_file, "
    "read_workspace_file, "
    "list_workspace_files and delete_workspace_file reach the same files from outside.";

// An eighth of the machine's memory, at most a gigabyte: waiting jails are a comfort.
jail::Pool::Limits pool_limits() {
  auto memory = static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  return {std::min<uint64_t>(memory / 8, 1 << 30), static_cast<uint32_t>(policies::Host::here().cpus)};
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
        &box->handle, [](uv_signal_t* h, int) { static_cast<Box*>(h->data)->fn(); }, number);
    boxes.push_back(std::move(box));
  }
};

Daemon::Daemon(Prepared prepared) : prepared_(std::move(prepared)), admission_(loop_, kMostExecutions), tasks_(loop_) {}

Daemon::~Daemon() {
  tasks_.cancel_all();
  listeners_.clear();  // their connections cancel what still runs
}

int Daemon::run() {
  // Each execution takes and gives back the same quarter of a megabyte: not to the kernel, and not page by page.
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
      if (std::exchange(ending_, true)) return loop_.stop();  // a second one: at once
      log_notice("{}: ending after the running calls", number == SIGTERM ? "SIGTERM" : "SIGINT");
      tasks_.spawn(drain());
    });
  }
  signals_->on(loop_, SIGHUP, [this] { tasks_.spawn(reload()); });
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
  auto lost = [this] { fail_to_serve(Error{Code::internal, 0, "the jailer process ended", "see the log above", {}}); };
  CO_TRY(jailer_, jail::JailerClient::start(loop_, std::move(prepared_.jailer), lost));
  host_.reset(new jail::Host{.loop = loop_, .jailer = *jailer_, .ids = prepared_.ids});
  host_->cgroups = prepared_.cgroups ? &*prepared_.cgroups : nullptr;
  host_->no_cgroups_why = prepared_.no_cgroups_why;
  host_->identity = prepared_.identity.root ? jail::Identity::separated : jail::Identity::shared;
  host_->daemon_uid = prepared_.identity.uid;
  host_->daemon_gid = prepared_.identity.gid;
  CO_CHECKED(co_await test_jails());

  CO_TRY(tenants::Registry registry, tenants::Registry::open(loop_, prepared_.state.get(), prepared_.policies));
  registry_ = std::make_unique<tenants::Registry>(std::move(registry));
  pool_ = std::make_unique<jail::Pool>(*host_, pool_limits());
  sessions_ = std::make_unique<tools::Sessions>(*host_, *pool_);
  CO_CHECKED(open_journal());
  open_catalog();
  open_skills();
  co_await show_servers();
  register_tools();
  auto admit = [this](const mcp::Peer& peer) -> Result<std::shared_ptr<void>> {
    // In a user namespace of our own every other user reads as the overflow id: nobody to tell apart.
    if (!prepared_.identity.root && peer.uid != prepared_.identity.uid)
      return fail(Code::denied, fmt::format("this daemon serves user {} only", prepared_.identity.uid),
                  "connect as that user, or to a daemon that was started as root");
    policies::Peer credentials;
    credentials.uid = peer.uid;
    credentials.gid = peer.gid;
    credentials.groups = peer.groups;
    TRY(auto member, registry_->admit(std::move(credentials)));
    expect_executions(*member->policy);
    return std::static_pointer_cast<void>(member);
  };
  for (auto& socket : prepared_.sockets) {
    CO_TRY(auto listener, mcp::Listener::open(loop_, *server_, std::move(socket), mcp::ListenerLimits{}, admit));
    listeners_.push_back(std::move(listener));
  }
  prepared_.sockets.clear();
  if (prepared_.options.bus != "off") log_warning("--bus {}: this version has no D-Bus service", prepared_.options.bus);
  tasks_.spawn(expire_workspaces());
  service_.start_watchdog(loop_);
  service_.ready("serving");
  log_notice("warderd {} is ready", kWarderVersion);
  co_return Result<>{};
}

Task<Result<>> Daemon::test_jails() {
  auto policy = prepared_.policies.find(prepared_.identity.root && prepared_.cgroups ? "system" : "default");
  if (!policy) policy = prepared_.policies.find(prepared_.policies.names().front());
  const std::string name = "self-test";
  CO_CHECKED(co_await jail::test_host(*host_, prepared_.self_test.get(), policy->filter, policy->limits.standard));
  log_info("jails: {} ids, {} root, Landlock ABI {}, cgroups {}, mapped workspace ids {}",
           host_->identity == jail::Identity::separated ? "separated" : "shared",
           host_->root == jail::RootMode::overlay ? "overlay" : "bind", host_->landlock_abi,
           host_->cgroups ? host_->cgroups->path() : "none (" + host_->no_cgroups_why + ")",
           host_->map_workspace_ids ? "yes" : "no (" + host_->no_idmap_why + ")");
  co_return Result<>{};
}

// An agent that connects is about to run code: its first call finds a jail, too.
void Daemon::expect_executions(const policies::Policy& policy) {
  for (auto language : jail::kLanguages) {
    if (policy.allows_language(jail::language_name(language)))
      pool_->expect(tools::make_spec(policy, language, policy.limits.standard), policy.pool);
  }
}

// What was acknowledged before is in it: without a journal nothing is served.
Result<> Daemon::open_journal() {
  const journal::Settings& settings = prepared_.options.journal;
  TRY(journal_, journal::Journal::open(loop_, prepared_.options.state + "/journal", settings));
  if (!journal_->set_aside().empty()) log_error("journal: {}", journal_->set_aside());
  if (journal_->interrupted() > 0)
    log_notice("journal: {} executions were interrupted when the daemon last ended", journal_->interrupted());
  log_info("journal: {}; audit chain: {}", settings.durability == journal::Durability::durable ? "durable" : "buffered",
           journal_->audit_head());
  return {};
}

void Daemon::open_catalog() {
  auto opened = tools::Discovery::open(loop_, prepared_.options.catalog);
  if (!opened) {
    log_error("serving without tool definitions: {}", opened.error().what);
    opened = tools::Discovery::open(loop_, "");
  }
  discovery_ = *std::move(opened);
  servers_ = std::make_unique<tools::StubTree>(loop_, std::move(prepared_.servers));
  discovery_->on_change([this] { tasks_.spawn(show_servers()); });
}

Task<> Daemon::expire_workspaces() {
  for (;;) {
    const auto next = co_await registry_->expire_workspaces();
    co_await sleep_for(loop_, next);
  }
}

// Jails that wait were built with what there was before.
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
    auto concerns = [&tenant](const std::shared_ptr<void>& user) {
      return static_cast<tenants::Member*>(user.get())->tenant->name() == tenant;
    };
    server_->lists_changed(mcp::Changed::resources, concerns);
    server_->lists_changed(mcp::Changed::prompts, concerns);
  };
  skills_ = std::make_unique<tools::Skills>(*host_, *pool_, std::move(shared), changed);
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
    tools::tell_changes(*server_, tenant, changes);
  };
  // The tenant's own workspace, or the one that a trusted client names.
  auto tenant_of = [this](mcp::RequestContext& context) -> Result<std::shared_ptr<tenants::Tenant>> {
    auto& member = context.user_as<tenants::Member>();
    const auto named = context.meta.is_object() ? context.meta.find(tools::kWorkspaceKey) : context.meta.end();
    if (named == context.meta.end()) return member.tenant;
    if (!named->is_string()) return fail(Code::invalid, "_meta: org.warder/workspace is not a string");
    return registry_->workspace(member, named->get_ref<const std::string&>());
  };
  execute_.reset(new tools::ExecuteEnvironment{*host_, admission_, *pool_, *sessions_, guest_calls_, *journal_,
                                               catalog_of, tenant_of, changed});
  tools::add_execute_code(*server_, *execute_);
  tools::add_session_calls(guest_calls_);
  tools::add_workspace_tools(*server_, tenant_of);
  server_->add_resources(tools::workspace_resources(tenant_of));
  server_->add_completion(tools::workspace_completion(tenant_of));
  auto searcher = [](const mcp::RequestContext& context) {
    auto& member = context.user_as<tenants::Member>();
    return tools::CatalogUser{member.tenant->name(), member.policy->learning};
  };
  tools::add_catalog_tools(*server_, catalog_of, searcher, learning_);
  tools::add_catalog_calls(guest_calls_, catalog_of);
  auto count_skills = [this](tenants::Tenant& tenant) -> Result<uint64_t> {
    TRY(skills::Library library, skills_->library(tenant));
    return library.all().size();
  };
  tools::add_get_execution_stats(*server_, *journal_, catalog_of, count_skills, *sessions_, tenant_of);
  server_->observe_calls(tools::keep_accounts(*journal_));
  register_pii();
  auto skill_user_of = [](mcp::RequestContext& context) {
    auto& member = context.user_as<tenants::Member>();
    return tools::SkillUser{*member.tenant, *member.policy};
  };
  tools::add_skill_tools(*server_, *skills_, skill_user_of);
  tools::add_skill_resources(*server_, *skills_, skill_user_of);
  tools::add_skill_calls(guest_calls_, *skills_);
}

void Daemon::register_pii() {
  vaults_ = tools::PiiVaults([this](const std::string& name) -> tools::PiiVaults::Made {
    const auto tenant = registry_->find(name);
    if (!tenant) return fail(Code::internal, "no tenant is named '" + name + "'");
    TRY(auto vault, tenants::SealedVault::open(tenant->directory(), prepared_.key.of_vault(name)));
    if (!vault->damage().empty()) log_error("tenant {}: the vault for personal data: {}", name, vault->damage());
    return vault;
  });
  auto user_of = [](const mcp::RequestContext& context) {
    auto& member = context.user_as<tenants::Member>();
    return tools::PiiUser{member.tenant->name(), member.policy->pii};
  };
  tools::add_pii_tools(*server_, user_of, vaults_);
  tools::add_pii_calls(guest_calls_, vaults_);
  server_->set_tool_choice([](const std::shared_ptr<void>& user) -> std::function<bool(std::string_view)> {
    const auto policy = static_cast<tenants::Member*>(user.get())->policy;
    if (policy->tools.every) return nullptr;
    return [policy](std::string_view name) { return policy->tools.offers(name); };
  });
  server_->set_outgoing(tools::outgoing_pii(user_of, vaults_));
}

Task<> Daemon::reload() {
  service_.reloading();
  if (discovery_) co_await discovery_->reload();
  auto reloaded = prepared_.policies.reload();
  if (!reloaded) {
    log_error("the policies stay as they were: {}", reloaded.error().what);
  } else if (registry_) {
    registry_->apply_policies();
    pool_->clear();
    sessions_->end_all("the policies were loaded anew");
    auto revoked = [](const std::shared_ptr<void>& user) { return static_cast<tenants::Member*>(user.get())->revoked; };
    for (auto& listener : listeners_) listener->close_if(revoked);
    auto tested = co_await test_jails();
    if (!tested) co_return fail_to_serve(tested.error());
    log_notice("policies reloaded: {}", fmt::join(prepared_.policies.names(), ", "));
  }
  service_.ready(reloaded ? "serving" : "serving; the last reload failed, see the log");
}

Task<> Daemon::drain() {
  service_.stopping();
  for (auto& listener : listeners_) listener->stop();
  if (server_) {
    server_->drain();
    Deadline limit(loop_, kDrainLimit, [this] {
      log_warning("calls still run after {} s: ending them", kDrainLimit.count());
      loop_.stop();
    });
    co_await server_->drained();
  }
  log_notice("ended");
  loop_.stop();
}
