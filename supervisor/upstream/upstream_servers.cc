#include "supervisor/upstream/upstream_servers.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>

#include "policies/call_rules.h"
#include "policies/limits.h"
#include "policies/policy_parts.h"
#include "policies/tenant_id.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/value_bytes.h"
#include "supervisor/base/log.h"
#include "supervisor/base/path.h"
#include "supervisor/upstream/http_transport.h"
#include "supervisor/upstream/login_target.h"
#include "supervisor/upstream/stdio_transport.h"

namespace upstream {
namespace {

// In `_meta` of a call: a server that has carried out a call of this key need not do it again.
constexpr char kIdempotencyKey[] = "org.warder/idempotencyKey";
constexpr size_t kMaxConnections = 256;        // connections of one server
constexpr size_t kMaxBytesOfTenant = 1 << 20;  // of definitions that one tenant sees
constexpr std::chrono::milliseconds kReportDelay{500};
constexpr std::chrono::milliseconds kRetireEvery{200};

Work::Owner owner_of(const ServerConfig& config) { return {"server " + config.name}; }

using KnownDefinitions = std::shared_ptr<const DefinitionsOfServer>;

// A job: reads what the catalog needs.
Result<KnownDefinitions> with_reading(const std::string& server, Definitions definitions) {
  auto existing = std::make_shared<DefinitionsOfServer>();
  TRY(existing->reading, catalog::read_definitions(Json{{"tools", definitions.described()}}, {server, ""}));
  existing->definitions = std::move(definitions);
  return KnownDefinitions(std::move(existing));
}

struct LearnedDefinitions {
  KnownDefinitions known;
  bool is_new = false;  // they differ from those before
  Result<> stored = {};
};

// A job: reads a list of tools, and stores it if it is new. `before`: nullptr: the tools were not known.
Result<LearnedDefinitions> read_list(int folder, const ServerConfig& config, Json tools, const KnownDefinitions& before,
                                     WorkMeter& meter) {
  LearnedDefinitions learned;
  TRY(Definitions definitions, Definitions::read(std::move(tools), meter));
  bool is_same = false;
  if (before) {
    TRY(is_same, definitions.is_same(before->definitions, meter));
    definitions.inherit(before->definitions);
  }
  learned.is_new = !is_same;
  if (is_same) return learned;
  learned.stored = save_definitions(folder, config, definitions);
  TRY(learned.known, with_reading(config.name, std::move(definitions)));
  return learned;
}

void count_call(ServerCounts& counts, const Result<ServerAnswer>& answer, Monotonic::time_point start) {
  if (!answer && answer.error().code == Code::exhausted) {
    counts.calls_refused++;
    return;
  }
  counts.call_us += static_cast<uint64_t>(ms_since(start) * 1000);
  if (!answer) {
    counts.calls_failed++;
  } else {
    const auto flag = answer->result.find("isError");
    const bool is_error = answer->is_error || (flag != answer->result.end() && *flag == true);
    (is_error ? counts.calls_error : counts.calls_ok)++;
  }
}

Task<Result<KnownDefinitions>> load_known(Work& work, std::shared_ptr<const Fd> folder, ServerConfig config) {
  std::function<Result<Json>()> read = [folder, config] { return read_stored(folder->get(), config); };
  Work::Owner owner = owner_of(config), owner_of_second = owner;
  CO_TRY(Json document, co_await work.run(std::move(owner), 0, std::move(read)));
  std::function<Result<KnownDefinitions>(WorkMeter&)> job =
      [name = config.name,
       document = std::make_shared<Json>(std::move(document))](WorkMeter& meter) -> Result<KnownDefinitions> {
    TRY(Definitions definitions, load_definitions(std::move(*document), meter));
    return with_reading(name, std::move(definitions));
  };
  auto existing = co_await work.run(std::move(owner_of_second), 0, std::move(job));
  co_return existing;
}

}  // namespace

UpstreamServers::UpstreamServers(jail::Host& host, Settings settings)
    : host_(host),
      settings_(std::move(settings)),
      folder_(std::make_shared<const Fd>(
          settings_.definitions < 0 ? -1 : ::fcntl(settings_.definitions, F_DUPFD_CLOEXEC, 0))),
      tasks_(host.loop) {
  for (auto& config : std::exchange(settings_.servers, {})) add(std::move(config));
}

void UpstreamServers::Server::forget_unconnected() {
  std::erase_if(known_of, [this](const auto& item) { return !connections.contains(item.first); });
}

UpstreamServers::ServerPtr UpstreamServers::find(std::string_view name) const {
  const auto it = servers_.find(name);
  return it == servers_.end() ? nullptr : it->second;
}

void UpstreamServers::add(ServerConfig config) {
  const std::string name = config.name;
  const auto server = std::make_shared<Server>();
  server->config = std::move(config);
  servers_[name] = server;
  loading_++;
  tasks_.spawn(load(server));
}

void UpstreamServers::begin() {
  has_started_ = true;
  learn();
}

Task<> UpstreamServers::loaded(std::chrono::milliseconds limit) {
  if (loading_ == 0) co_return;
  OneShot<> over(host_.loop);
  waiting_for_loads_.push_back(over.resolver());
  const Deadline latest(host_.loop, limit, [resolver = over.resolver()] { resolver.resolve_now(); });
  co_await over;
}

Task<> UpstreamServers::load(ServerPtr server) {
  auto existing = co_await load_known(host_.work, folder_, server->config);
  if (!existing && existing.error().code != Code::not_found)
    log_warning("upstream server {}: its stored tool definitions are not used: {}", server->config.name,
                existing.error().what);
  const bool is_new = existing && !server->known;
  if (is_new) server->known = *std::move(existing);
  if (--loading_ == 0) {
    for (const auto& waiting : std::exchange(waiting_for_loads_, {})) waiting.resolve();
    learn();
  }
  if (is_new && changed_) changed_();
}

// Starts the servers with unknown tools, once it is clear which those are.
void UpstreamServers::learn() {
  if (!has_started_ || loading_ > 0) return;
  for (const auto& [name, server] : servers_) {
    // The first login or call learns the tools of a server where each tenant logs in.
    const bool has_logins = server->config.oauth && server->config.sharing == ServerConfig::Sharing::tenant &&
                            server->config.oauth->grant == oauth::OAuthSettings::Grant::authorization_code;
    if (!server->known && !has_logins) tasks_.spawn(learn_one(server));
  }
}

Task<> UpstreamServers::learn_one(ServerPtr server) {
  // A failure is logged by the connection; the next call tries again.
  ServerConnection& connection = connection_of(*server, settings_.no_user);
  auto start_it = start_of(*server, settings_.no_user);
  auto ready = co_await connection.ready(std::move(start_it));
  if (ready && server->config.sharing == ServerConfig::Sharing::tenant) connection.rest();
}

bool UpstreamServers::adopt(std::vector<ServerConfig> servers, std::shared_ptr<const policies::Policy> standard) {
  settings_.no_user.policy = std::move(standard);
  std::map<std::string, ServerPtr, std::less<>> before;
  before.swap(servers_);
  bool changed = false;
  for (auto& config : servers) {
    const auto former = before.find(config.name);
    if (former != before.end() && former->second->config == config) {
      servers_.insert(before.extract(former));
    } else {
      changed = true;
      add(std::move(config));
    }
  }
  for (auto& [name, server] : before) {
    changed = true;
    log_info("upstream server {}: {}", name, has(name) ? "its settings changed" : "removed");
    tasks_.spawn(retire(std::move(server)));
  }
  if (changed) learn();
  return changed;
}

std::vector<ServerConfig> UpstreamServers::imported_from(const std::string& file) const {
  std::vector<ServerConfig> all;
  for (const auto& [name, server] : servers_)
    if (server->config.imported_from == file) all.push_back(server->config);
  return all;
}

const ServerConfig* UpstreamServers::config_of(std::string_view name) const {
  const auto it = servers_.find(name);
  return it == servers_.end() ? nullptr : &it->second->config;
}

// The server is destroyed here, from a timer: never in the middle of its own code.
Task<> UpstreamServers::retire(ServerPtr server) {
  for (;;) {
    for (auto& [tenant, connection] : server->connections) connection->rest();
    const bool rests = std::all_of(server->connections.begin(), server->connections.end(),
                                   [](const auto& item) { return item.second->rests(); });
    if (rests && server.use_count() == 1) co_return;
    co_await sleep_for(host_.loop, kRetireEvery);
  }
}

const Caller& UpstreamServers::caller_of(const Server& server, const Caller& caller) const {
  return server.config.sharing == ServerConfig::Sharing::all_users ? settings_.no_user : caller;
}

ServerConnection::Start UpstreamServers::start_of(const Server& server, const Caller& caller) {
  ServerConnection::Start how;
  how.transport = [this, &server, who = caller_of(server, caller)](Variables secrets) {
    return start(server, who, std::move(secrets));
  };
  const auto& policy = caller_of(server, caller).policy;
  if (policy && policies::calls_of(*policy).questions == policies::CallRules::Questions::client)
    how.questions = Client::Questions::some;
  return how;
}

Result<> UpstreamServers::make_room_for(Server& server, const Caller& caller) {
  const auto has_room = [&server] { return server.connections.size() < kMaxConnections; };
  if (has_room() || server.connections.contains(caller_of(server, caller).tenant)) return {};
  std::erase_if(server.connections, [](const auto& item) { return item.second->rests(); });
  server.forget_unconnected();
  if (has_room()) return {};
  return fail(Code::exhausted,
              fmt::format("server '{}' already runs for {} tenants", server.config.name, kMaxConnections));
}

void UpstreamServers::end_idle_of(const std::string& account) {
  for (auto& [name, server] : servers_) {
    std::erase_if(server->connections, [&account](const auto& item) {
      return tenants::account_of(item.first) == account && item.second->is_idle();
    });
    server->forget_unconnected();
  }
}

ServerConnection& UpstreamServers::connection_of(Server& server, const Caller& caller) {
  const Caller& user = caller_of(server, caller);
  auto& connection = server.connections[user.tenant];
  if (!connection) {
    ServerConnection::Observer observer;
    observer.counts = &server.counts;
    // Definitions may depend on a tenant's files. Other tenants must not see them.
    const bool is_tenants = server.config.tenants_folder && &user != &settings_.no_user;
    Work::Owner owner{user.tenant.empty() ? "server " + server.config.name : user.tenant};
    if (user.policy) owner.bytes_per_second = policies::limits_of(*user.policy).standard.json_bytes_per_second;
    observer.learned = [this, &server, is_tenants, owner](Json tools) {
      return is_tenants ? learned_for(server, owner, std::move(tools)) : learned(server, std::move(tools));
    };
    observer.problem = [&server](const std::string& problem) { server.problem = problem; };
    auto share = host_.shares.of(owner.name);
    connection =
        std::make_unique<ServerConnection>(host_.loop, Client::Reading{host_.work, std::move(owner), std::move(share)},
                                           server.config, std::move(observer));
  }
  return *connection;
}

Task<Result<std::unique_ptr<Transport>>> UpstreamServers::start(const Server& server, Caller caller,
                                                                Variables secrets) {
  if (server.config.remote()) {
    if (!http_) {
      CO_TRY(http_, http::HttpClient::open(host_.loop));
    }
    std::shared_ptr<oauth::BearerTokens> tokens;
    if (server.config.oauth) {
      if (!settings_.logins) co_return fail(Code::unavailable, kNoLogins);
      tokens = settings_.logins->source(target_of(server.config), login_owner(server.config, caller.tenant));
    }
    co_return std::unique_ptr<Transport>(
        new HttpTransport(host_.loop, http_, server.config, secrets, std::move(tokens)));
  }
  Variables variables = secrets;
  CO_TRY(auto process, co_await start_process(server, std::move(caller), std::move(variables)));
  co_return std::unique_ptr<Transport>(new StdioTransport(host_.loop, std::move(process), std::move(secrets)));
}

Task<Result<std::unique_ptr<ServerProcess>>> UpstreamServers::start_process(const Server& server, Caller caller,
                                                                            Variables secrets) {
  const ServerConfig& config = server.config;
  if (config.location == ServerConfig::ServerHost::outside) co_return start_outside(host_.loop, config, secrets);
  Fd folder;
  if (!config.folder.empty()) {
    CO_TRY(folder, open_directory(config.folder));
  } else if (!config.tenants_folder || caller.workspace < 0) {
    CO_TRY(const RelativePath own, RelativePath::parse("servers/" + config.name));
    CO_TRY(folder, make_directories_beneath(caller.directory, own, 0700));
  }
  const int folder_fd = folder ? folder.get() : caller.workspace;
  JailedStart start{*caller.policy, folder_fd, caller.tenant, settings_.network};
  std::string owner =
      fmt::format("server {} of tenant {}", config.name, caller.tenant.empty() ? "(all)" : caller.tenant);
  if (caller.account && config.folder.empty()) {
    start.disk = caller.account(std::move(owner));
  } else {
    start.disk.owner = std::move(owner);
  }
  auto started = co_await start_in_jail(host_, config, std::move(secrets), std::move(start));
  co_return started;
}

Task<Result<>> UpstreamServers::learned(Server& server, Json tools) {
  if (!tools.is_array()) co_return Result<>{};
  std::function<Result<LearnedDefinitions>(WorkMeter&)> job = [folder = folder_, config = server.config,
                                                               list = std::make_shared<Json>(std::move(tools)),
                                                               before = server.known](WorkMeter& meter) {
    return read_list(folder->get(), config, std::move(*list), before, meter);
  };
  Work::Owner owner = owner_of(server.config);
  CO_TRY(LearnedDefinitions now, co_await host_.work.run(std::move(owner), 0, std::move(job)));
  if (!now.is_new) co_return Result<>{};
  host_.work.free_elsewhere(std::exchange(server.known, std::move(now.known)));
  host_.work.free_elsewhere(std::exchange(server.known_of, {}));
  if (find(server.config.name).get() != &server) co_return Result<>{};
  if (!now.stored)
    log_warning("upstream server {}: its tool definitions are not stored: {}", server.config.name,
                now.stored.error().what);
  log_info("upstream server {}: {} tools", server.config.name, server.known->definitions.tools.size());
  if (changed_) changed_();
  co_return Result<>{};
}

Task<Result<>> UpstreamServers::learned_for(Server& server, Work::Owner tenant, Json tools) {
  if (server.known || !tools.is_array()) {
    host_.work.free_elsewhere(std::move(tools));
    co_return Result<>{};
  }
  std::function<Result<KnownDefinitions>(WorkMeter&)> job =
      [list = std::make_shared<Json>(std::move(tools))](WorkMeter& meter) -> Result<KnownDefinitions> {
    if (rough_length(*list, kMaxBytesOfTenant) >= kMaxBytesOfTenant)
      return fail(Code::unavailable, "the definitions of tools are longer than 1 MiB",
                  "let the server list fewer tools");
    auto definitions = std::make_shared<DefinitionsOfServer>();
    TRY(definitions->definitions, Definitions::read(std::move(*list), meter));
    return KnownDefinitions(std::move(definitions));
  };
  std::string name = tenant.name;
  CO_TRY(KnownDefinitions definitions, co_await host_.work.run(std::move(tenant), 0, std::move(job)));
  if (!server.known) server.known_of[std::move(name)] = std::move(definitions);
  co_return Result<>{};
}

void UpstreamServers::results_changed(std::string_view name) {
  const ServerPtr server = find(name);
  if (!server || !server->known) return;
  server->has_new_results = true;
  if (!std::exchange(server->is_storing, true)) tasks_.spawn(store_results(server));
}

Task<> UpstreamServers::store_results(ServerPtr server) {
  while (std::exchange(server->has_new_results, false)) {
    std::function<Result<LearnedDefinitions>()> job = [folder = folder_, config = server->config,
                                                       before = server->known]() -> Result<LearnedDefinitions> {
      LearnedDefinitions now;
      now.stored = save_definitions(folder->get(), config, before->definitions);
      TRY(now.known, with_reading(config.name, before->definitions));
      return now;
    };
    const KnownDefinitions before = server->known;
    Work::Owner owner = owner_of(server->config);
    auto now = co_await host_.work.run(std::move(owner), 0, std::move(job));
    if (now && server->known == before) server->known = std::move(now->known);
    if (const Result<> stored = now ? now->stored : Result<>(tl::unexpected<Error>(now.error())); !stored)
      log_warning("upstream server {}: its observed results are not stored: {}", server->config.name,
                  stored.error().what);
  }
  server->is_storing = false;
  telling_ = Deadline(host_.loop, kReportDelay, [this] {
    if (changed_) changed_();
  });
}

std::vector<std::pair<std::string, std::shared_ptr<const catalog::Reading>>> UpstreamServers::readings() const {
  std::vector<std::pair<std::string, std::shared_ptr<const catalog::Reading>>> all;
  for (const auto& [name, server] : servers_)
    if (server->known)
      all.emplace_back("server " + name,
                       std::shared_ptr<const catalog::Reading>(server->known, &server->known->reading));
  return all;
}

std::vector<std::string> UpstreamServers::unlearned() const {
  std::vector<std::string> all;
  for (const auto& [name, server] : servers_)
    if (!server->known) all.push_back(name);
  return all;
}

Task<Result<>> UpstreamServers::make_known(const Caller& caller, std::string name) {
  const ServerPtr server_ptr = find(name);
  if (!server_ptr) co_return fail(Code::not_found, fmt::format("no server is named '{}'", printable(name, 64)));
  if (server_ptr->known) co_return Result<>{};  // a tenant may have changed the files behind its own definitions
  const auto started = Monotonic::now();
  CO_CHECKED(make_room_for(*server_ptr, caller));
  ServerConnection& connection = connection_of(*server_ptr, caller);
  auto start_it = start_of(*server_ptr, caller);
  auto ready = co_await connection.ready(std::move(start_it));
  if (ready) co_return Result<>{};
  Result<ServerAnswer> none = tl::unexpected<Error>(std::move(ready).error());
  count_call(server_ptr->counts, none, started);
  co_return tl::unexpected<Error>(std::move(none).error());
}

Task<Result<ServerAnswer>> UpstreamServers::call(const Caller& caller, std::string name, std::string tool,
                                                 Transport::Arguments arguments, std::chrono::milliseconds limit,
                                                 Client::Progress progress, Asking asking) {
  const ServerPtr server_ptr = find(name);
  if (!server_ptr) co_return fail(Code::not_found, fmt::format("no server is named '{}'", printable(name, 64)));
  Server& server = *server_ptr;
  const auto started = Monotonic::now();
  if (auto room = make_room_for(server, caller); !room) {
    server.counts.calls_refused++;
    co_return tl::unexpected<Error>(std::move(room).error());
  }
  Client::Request order;
  order.arguments = std::move(arguments);
  order.params = {{"name", std::move(tool)}};
  if (!caller.trace.empty()) {
    Json& meta = order.params["_meta"];
    meta["traceparent"] = caller.trace.parent.text;
    if (!caller.trace.state.empty()) meta["tracestate"] = caller.trace.state;
  }
  if (!caller.idempotency_key.empty()) order.params["_meta"][kIdempotencyKey] = caller.idempotency_key;
  order.limit = limit;
  order.progress = std::move(progress);
  order.asking = std::move(asking);
  ServerConnection& connection = connection_of(server, caller);
  auto start_it = start_of(server, caller);
  auto answer = co_await connection.call(std::move(start_it), std::move(order));
  count_call(server.counts, answer, started);
  co_return answer;
}

}  // namespace upstream
