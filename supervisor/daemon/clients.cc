// Clients of the daemon: which peers may connect, and which connections an earlier daemon left to this one.
#include <fmt/format.h>
#include <sys/socket.h>

#include "supervisor/daemon/daemon_parts.h"
#include "supervisor/mcp/task_calls.h"
#include "supervisor/systemd/peer_unit.h"

namespace {

// Closes a stored connection that this daemon does not serve. The client reads the end of the stream; the service
// manager then drops the descriptors.
void end(const StoredConnection& connection) {
  if (connection.socket) ::shutdown(connection.socket.get(), SHUT_RDWR);
}

}  // namespace

Result<> DaemonParts::listen() {
  auto admit = [this](const mcp::Principal& principal) -> Result<std::shared_ptr<mcp::ConnectionUser>> {
    // In the daemon's own user namespace all other users have the overflow id, so the daemon cannot distinguish them.
    // A token is no user: who made it is the daemon's user.
    const bool is_peer = principal.peer().has_value();
    if (is_peer && !prepared_.identity.root && principal.uid() != prepared_.identity.uid)
      return fail(Code::denied, fmt::format("this daemon serves user {} only", prepared_.identity.uid),
                  "connect as that user, or connect to a daemon that root started");
    std::optional<std::string> unit;
    if (is_peer && prepared_.policies.asks_for_units()) unit = unit_of(principal.pid(), principal.uid());
    TRY(auto member, registry_.admit(principal, std::move(unit)));
    expect_executions(*member->policy);
    members_.add(member);
    return member;
  };
  CHECKED(listen_for_http(admit));
  auto& stored = prepared_.passed.connections;
  mcp::Listener::Keep keep;
  FdStore* const store = opened_.fd_store.get();
  if (store) keep = [store](int socket, int record) { return store->keep(socket, record); };
  for (auto& socket : prepared_.passed.sockets) {
    TRY(auto listener, mcp::Listener::open(loop_, server_, std::move(socket), mcp::ListenerLimits{}, admit, keep));
    listener->set_http([this](Fd client_socket, std::string_view bytes, mcp::Conversation::Client client) {
      http_->serve_peer(std::move(client_socket), bytes, std::move(client));
    });
    listeners_.push_back(std::move(listener));
  }
  prepared_.passed.sockets.clear();
  for (auto& socket : std::exchange(prepared_.passed.node, {}))
    if (cluster_)
      CHECKED(cluster_->listen(
          std::move(socket), prepared_.node_users, *listeners_.front(),
          {[this](const cluster::QueryOrder& order, cluster::ClusterQueryKind kind) {
             return answer_query(order, kind);
           },
           [this](AsyncFd from, cluster::Push push) { moves_->receiver().take(std::move(from), std::move(push)); }}));
  size_t whole = 0;
  for (auto& connection : std::exchange(stored, {})) {
    if (!store) {
      end(connection);
    } else if (!connection.socket || !connection.record) {  // the client left meanwhile
      end(connection);
      store->forget(connection.name)();
    } else {
      auto forget = store->forget(connection.name);
      listeners_.front()->adopt(std::move(connection.socket), std::move(connection.record), std::move(forget));
      whole++;
    }
  }
  if (whole > 0) log_notice("the connections of {} clients continue after the restart", whole);
  // Every list may have changed over the restart.
  for (const mcp::Changed what : server_.told()) server_.lists_changed(what);
  return {};
}

Result<> DaemonParts::listen_for_http(mcp::Listener::Admit admit) {
  const HttpOptions& options = prepared_.options.http;
  http_.emplace(loop_, server_, std::move(admit),
                streamable_http::HttpSettings{.hosts = options.hosts, .origins = options.origins});
  adopt_tokens();
  const size_t tokens = tokens_in_force_->tokens().count();
  for (Fd& socket : std::exchange(prepared_.passed.http, {})) {
    TRY(auto listener, streamable_http::HttpListener::open(loop_, *http_, std::move(socket), tokens_in_force_));
    log_notice("MCP over HTTP: listening on {}; {}", listener->address(),
               tokens > 0 ? fmt::format("{} tokens are in force", tokens)
                          : "there is no token, so every request is refused; warder token add makes one");
    http_listeners_.push_back(std::move(listener));
  }
  return {};
}

// The bearers of a token that was removed, that has expired, or that was replaced by another of its name, are
// disconnected: their event streams and sessions end, too. So are all subjects of JWTs, if the rules for JWTs are
// others, and a subject whose newest JWT was signed with a key that is gone: clients with a good JWT come again.
// HttpEndpoint ends those that expire later.
void DaemonParts::adopt_tokens() {
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
    const auto *old = before.named(principal.token()), *kept = now.named(principal.token());
    return !kept || !old || old->hash != kept->hash || kept->is_expired(credentials::wall_now());
  });
}

void DaemonParts::disconnect_if(const std::function<bool(const std::shared_ptr<mcp::ConnectionUser>& user)>& chosen) {
  for (auto& listener : listeners_) listener->close_if(chosen);
  if (http_) http_->close_if(chosen);
  server_.task_calls()->cancel_of(chosen);
}
