#include "supervisor/daemon/client_doors.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include "supervisor/base/log.h"
#include "supervisor/base/tcp_address.h"
#include "supervisor/daemon/configuration/trial.h"
#include "supervisor/daemon/systemd/peer_unit.h"
#include "supervisor/operations/metrics/text.h"
#include "supervisor/protocol/mcp/task_calls.h"
#include "supervisor/tenants/requester.h"

namespace {

// Closes a stored connection that this daemon does not serve. The client reads the end of the stream; the service
// manager then drops the descriptors.
void end(const StoredConnection& connection) {
  if (connection.socket) ::shutdown(connection.socket.get(), SHUT_RDWR);
}

}  // namespace

Result<std::shared_ptr<mcp::ConnectionUser>> ClientDoors::admit(const mcp::Principal& principal) {
  // In the daemon's own user namespace all other users have the overflow id, so the daemon cannot distinguish them.
  // A token is no user: its maker is the daemon's user.
  const bool is_peer = principal.peer().has_value();
  if (is_peer && !prepared_.identity.root && principal.uid() != prepared_.identity.uid)
    return fail(Code::denied, fmt::format("this daemon serves user {} only", prepared_.identity.uid),
                "connect as that user, or connect to a daemon that root started");
  std::optional<std::string> unit;
  if (is_peer && prepared_.policies.asks_for_units()) unit = unit_of(principal.pid(), principal.uid());
  TRY(auto member, registry_.admit(principal, std::move(unit)));
  expected_jails_.expect(*member->policy);
  members_.add(member);
  return member;
}

ClientDoors::ClientDoors(Loop& loop, Prepared& prepared, mcp::Server& server, tenants::Registry& registry,
                         bus::Members& members, ExpectedJails& expected_jails, FdStore* fd_store)
    : loop_(loop),
      prepared_(prepared),
      server_(server),
      registry_(registry),
      members_(members),
      expected_jails_(expected_jails),
      fd_store_(fd_store) {}

Result<std::unique_ptr<ClientDoors>> ClientDoors::open(Loop& loop, Prepared& prepared, mcp::Server& server,
                                                       tenants::Registry& registry, bus::Members& members,
                                                       ExpectedJails& expected_jails, FdStore* fd_store) {
  return std::make_unique<ClientDoors>(loop, prepared, server, registry, members, expected_jails, fd_store);
}

Result<> ClientDoors::serve() {
  CHECKED(listen_for_http());
  mcp::Listener::Keep keep;
  FdStore* const store = fd_store_;
  if (store) keep = [store](int socket, int record) { return store->keep(socket, record); };
  for (auto& socket : std::exchange(prepared_.passed.sockets, {})) {
    TRY(auto listener, mcp::Listener::open(
                           loop_, server_, std::move(socket), mcp::ListenerLimits{},
                           [this](const mcp::Principal& principal) { return admit(principal); }, keep));
    listener->set_http([this](Fd client_socket, std::string_view bytes, mcp::Conversation::Client client) {
      http_->serve_peer(std::move(client_socket), bytes, std::move(client));
    });
    listeners_.push_back(std::move(listener));
  }
  adopt_connections();
  return {};
}

void ClientDoors::adopt_connections() {
  FdStore* const store = fd_store_;
  size_t adopted = 0;
  for (auto& connection : std::exchange(prepared_.passed.connections, {})) {
    if (!store) {
      end(connection);
    } else if (!connection.socket || !connection.record) {  // the client left meanwhile
      end(connection);
      store->forget(connection.name)();
    } else {
      auto forget = store->forget(connection.name);
      main_listener().adopt(std::move(connection.socket), std::move(connection.record), std::move(forget));
      adopted++;
    }
  }
  if (adopted > 0) log_notice("the connections of {} clients continue after the restart", adopted);
  // Every list may have changed over the restart.
  for (const mcp::Changed subject : server_.reported()) server_.lists_changed(subject);
}

Result<> ClientDoors::listen_for_http() {
  const HttpOptions& options = prepared_.options.http;
  http_.emplace(
      loop_, server_, [this](const mcp::Principal& principal) { return admit(principal); },
      streamable_http::HttpSettings{.hosts = options.hosts, .origins = options.origins});
  adopt_tokens();
  for (Fd& socket : std::exchange(prepared_.passed.http, {})) CHECKED(serve_http_on(std::move(socket)));
  return {};
}

Result<> ClientDoors::serve_http_on(Fd socket) {
  TRY(auto listener, streamable_http::HttpListener::open(loop_, *http_, std::move(socket), tokens_in_force_));
  const size_t tokens = tokens_in_force_->tokens().count();
  log_notice("MCP over HTTP: listening on {}; {}", listener->address(),
             tokens > 0 ? fmt::format("{} tokens are in force", tokens)
                        : "there is no token, so every request is refused; warder token add makes one");
  http_listeners_.push_back(std::move(listener));
  return {};
}

std::vector<configuration::Shortfall> ClientDoors::open_missing(std::vector<configuration::Shortfall> missing) {
  const auto& in_force = prepared_.configuration;
  const auto& addresses = prepared_.options.http.listen;
  for (size_t i = 0; i < addresses.size() && !prepared_.listening.http_passed; i++) {
    const std::string key = fmt::format("http.listen[{}]", i);
    if (prepared_.listening.opened.contains(addresses[i]) || configuration::has_key(missing, key)) continue;
    const auto opened = [&]() -> Result<> {
      TRY(const TcpAddress address, parse_tcp_address(addresses[i]));
      TRY(Fd socket, listen_on(address));
      return serve_http_on(std::move(socket));
    }();
    if (opened) {
      prepared_.listening.opened.insert(addresses[i]);
      continue;
    }
    missing.push_back(
        {key, configuration::text_of_start(in_force.document, in_force.invocation.flags, key, opened.error())});
  }
  return missing;
}

// The bearers of a token that was removed, that has expired, or that was replaced by another of its name, are
// disconnected: their event streams and sessions end, too. So are all subjects of JWTs, if the rules for JWTs are
// others, and a subject whose newest JWT was signed with a key that is gone: clients with a good JWT come again.
// HttpEndpoint ends those that expire later.
void ClientDoors::adopt_tokens() {
  const credentials::TokenTable before = tokens_in_force_->tokens();
  const credentials::JwtSettings &old_jwt = tokens_in_force_->jwt(), &new_jwt = prepared_.options.jwt;
  const bool has_other_rules = old_jwt.issuer != new_jwt.issuer || old_jwt.audience != new_jwt.audience ||
                               old_jwt.tenant_claim != new_jwt.tenant_claim;
  tokens_in_force_->set_jwt(prepared_.options.jwt);
  tokens_in_force_->set_tokens(credentials::TokenTable(prepared_.tokens()));
  if (http_)
    for (const auto& token : tokens_in_force_->tokens().all())
      http_->set_good_until(mcp::Principal::of_token(token.name).name(), token.expires);
  for (const auto& token : prepared_.credential_tokens) {
    const auto* used = tokens_in_force_->tokens().named(token.name);
    if (!used || used->hash != token.hash)
      log_warning(
          "token '{}' of the credential warder.tokens is not used: the configuration has a token of this name, "
          "or with this secret",
          token.name);
  }
  const credentials::TokenTable& now = tokens_in_force_->tokens();
  disconnect_if([&](const std::shared_ptr<mcp::ConnectionUser>& user) {
    const mcp::Principal& principal = tenants::member_of(user).principal;
    if (principal.kind() == mcp::Principal::Kind::subject)
      return has_other_rules || !http_ || !credentials::has_key(new_jwt.keys, http_->key_of(principal.name()));
    if (principal.kind() != mcp::Principal::Kind::token) return false;
    const auto *old = before.named(principal.token()), *saved = now.named(principal.token());
    return !saved || !old || old->hash != saved->hash || saved->is_expired(credentials::rights_now());
  });
}

void ClientDoors::adopt_policies() {
  adopt_tokens();
  disconnect_if([](const std::shared_ptr<mcp::ConnectionUser>& user) { return tenants::member_of(user).revoked; });
}

void ClientDoors::disconnect_if(const Chosen& chosen) {
  for (auto& listener : listeners_) listener->close_if(chosen);
  if (http_) http_->close_if(chosen);
  server_.task_calls()->cancel_of(chosen);
}

void ClientDoors::disconnect_tenant(const std::string& tenant) {
  disconnect_if([&tenant](const std::shared_ptr<mcp::ConnectionUser>& user) {
    return tenants::member_of(user).tenant->account() == tenant;
  });
}

void ClientDoors::refuse_calls() {
  for (auto& listener : listeners_) {
    listener->stop();
    listener->pause();
  }
  for (auto& listener : http_listeners_) listener->stop();
  if (http_) http_->pause();
}

void ClientDoors::disconnect() {
  for (auto& listener : listeners_) listener->leave();
  listeners_.clear();  // closing a connection cancels its calls
  if (server_.task_calls()) server_.task_calls()->cancel_of({});
  http_listeners_.clear();
  http_.reset();
}

ClientDoors::TokenCounts ClientDoors::token_counts() const {
  constexpr std::chrono::hours kSoon{7 * 24};
  TokenCounts counts;
  const auto now = credentials::rights_now();
  for (const auto& token : tokens_in_force_->tokens().all())
    (token.is_expired(now) ? counts.expired : token.is_expired(now + kSoon) ? counts.expire_soon : counts.good)++;
  return counts;
}

uint64_t ClientDoors::refused(streamable_http::DenialReason reason) const {
  return http_ ? http_->failed_attempts().count(reason) : 0;
}

void ClientDoors::write_metrics(metrics::OpenMetricsText& text, Reader) const {
  text.family("warder_http_connections", "gauge", "", "Clients that are connected over HTTP.");
  text.sample("", {}, http_ ? http_->connections() : 0);
  text.family("warder_http_sessions", "gauge", "", "Sessions of clients over HTTP (Mcp-Session-Id).");
  text.sample("", {}, http_ ? http_->sessions() : 0);
  text.family("warder_http_event_streams", "gauge", "", "Open streams of events to clients over HTTP.");
  text.sample("", {}, http_ ? http_->event_streams() : 0);
  text.family("warder_http_refused", "counter", "",
              "Requests over TCP that were refused with 401: without a token, in another form, unknown, expired.");
  for (size_t i = 0; i < streamable_http::kDenialReasons; i++) {
    const auto reason = static_cast<streamable_http::DenialReason>(i);
    text.sample("_total", {{"reason", streamable_http::denial_name(reason)}}, refused(reason));
  }
  const TokenCounts tokens = token_counts();
  text.family("warder_access_tokens", "gauge", "", "Tokens for clients over TCP; expiring: within seven days.");
  text.sample("", {{"state", "good"}}, tokens.good);
  text.sample("", {{"state", "expiring"}}, tokens.expire_soon);
  text.sample("", {{"state", "expired"}}, tokens.expired);
}

// Only if the daemon listens on TCP.
Task<doctor::Findings> ClientDoors::examine() {
  if (http_listeners_.empty()) co_return doctor::Findings{};
  doctor::HttpUse use;
  for (const auto& listener : http_listeners_) use.addresses.push_back(listener->address());
  use.connections = http_->connections(), use.sessions = http_->sessions();
  for (size_t i = 0; i < streamable_http::kDenialReasons; i++)
    use.refused += refused(static_cast<streamable_http::DenialReason>(i));
  const TokenCounts tokens = token_counts();
  use.tokens_good = tokens.good, use.tokens_expire_soon = tokens.expire_soon, use.tokens_expired = tokens.expired;
  use.has_jwt = tokens_in_force_->jwt().is_set();
  use.has_jwt_keys = !tokens_in_force_->jwt().keys.empty();
  co_return doctor::Findings{doctor::judge_http(use)};
}

PartEntry client_doors_part() { return part_entry_of("client doors", ClientDoors::open); }
