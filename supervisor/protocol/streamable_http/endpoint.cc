#include "supervisor/protocol/streamable_http/endpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "supervisor/base/ascii.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/trimmed.h"
#include "supervisor/protocol/credentials/stored_token.h"
#include "supervisor/protocol/http/web_origin.h"
#include "supervisor/protocol/streamable_http/cross_origin.h"
#include "supervisor/protocol/streamable_http/header_checks.h"
#include "supervisor/protocol/streamable_http/post.h"

namespace streamable_http {
namespace {

constexpr std::chrono::minutes kLookAtClock{1};

HttpAnswer refusal(int status, std::string why, std::string headers = {}) {
  return {status, mcp::error_line({}, {mcp::ErrorCode::invalid_request, std::move(why), {}}), std::move(headers)};
}

// The principal is known and may not use the server, or not now.
HttpAnswer refusal(int status, const Error& error) {
  Json data = {{"code", code_name(error.code)}, {mcp::meta_key::kNotRun, "refused"}};
  if (!error.hint.empty()) data["remedy"] = error.hint;
  return {status, mcp::error_line({}, {mcp::ErrorCode::internal_error, error.what, std::move(data)}), {}};
}

bool is_json(const http::IncomingRequest& request) {
  const std::string* type = request.field("content-type");
  if (!type) return false;
  std::string_view name = trimmed(std::string_view(*type).substr(0, type->find(';')));
  return is_same_word(name, kJson);
}

// RFC 9728, section 3.1: with the path of the resource, and without.
bool is_metadata_path(std::string_view path, std::string_view own_path) {
  constexpr std::string_view kWellKnown = "/.well-known/oauth-protected-resource";
  if (!path.starts_with(kWellKnown)) return false;
  path.remove_prefix(kWellKnown.size());
  return path.empty() || path == own_path;
}

}  // namespace

HttpEndpoint::HttpEndpoint(Loop& loop, mcp::Server& server, mcp::Listener::Admit admit, HttpSettings settings,
                           EndpointLimits limits)
    : loop_(loop),
      server_(server),
      admit_(std::move(admit)),
      settings_(std::move(settings)),
      limits_(limits),
      sessions_(loop, server, limits_.session),
      failed_(limits_.attempts) {}

// A connection's reader of a session's stream must end before the session.
HttpEndpoint::~HttpEndpoint() { connections_.clear(); }

void HttpEndpoint::serve_peer(Fd socket, std::string_view bytes, mcp::Conversation::Client client) {
  HttpConnection::Accepted accepted;
  accepted.socket = std::move(socket);
  accepted.bytes = bytes;
  accepted.authenticator = std::make_shared<PeerAuthenticator>(client.principal);
  accepted.client = std::move(client);
  start(std::move(accepted));
}

void HttpEndpoint::serve_tcp(Fd socket, std::shared_ptr<const Authenticator> authenticator, std::string own_address,
                             std::string client_address) {
  HttpConnection::Accepted accepted;
  accepted.socket = std::move(socket);
  accepted.authenticator = std::move(authenticator);
  accepted.own_address = std::move(own_address);
  accepted.client_address = std::move(client_address);
  start(std::move(accepted));
}

void HttpEndpoint::start(HttpConnection::Accepted accepted) {
  const bool is_peer = accepted.own_address.empty();
  const auto is_unknown = [](const auto& item) { return item && !item->client(); };
  const bool is_crowded = !is_peer && static_cast<size_t>(std::count_if(connections_.begin(), connections_.end(),
                                                                        is_unknown)) >= limits_.unknown_connections;
  if ((is_crowded || connections_.size() >= limits_.connections) && !make_room(is_peer)) return;  // closes the socket
  // The list has the entry before the connection opens, because a connection may end while it opens.
  const auto location = connections_.emplace(connections_.end());
  auto on_end = [this, location] { connections_.erase(location); };
  auto connection = HttpConnection::open(loop_, server_, *this, std::move(accepted), limits_.connection, on_end);
  if (!connection) {
    connections_.erase(location);
    return;
  }
  *location = *std::move(connection);
}

// Ends the oldest connection that waits for its client, so that a client that sends its request at once is served,
// however many others only wait. First those without credentials; a connection over TCP never ends one of a Unix
// socket, and no connection ends another one's request. False: there is none to end.
bool HttpEndpoint::make_room(bool for_peer) {
  for (const bool of_known : {false, true}) {
    for (const auto& connection : connections_) {
      if (!connection || !connection->is_waiting() || connection->is_ending()) continue;
      const bool is_known = connection->client().has_value();
      if (is_known != of_known) continue;
      if (is_known && (connection->is_in_request() || (connection->own_address().empty() && !for_peer))) continue;
      connection->close();
      return true;
    }
  }
  return false;
}

std::optional<HttpConnection::Host::Refusal> HttpEndpoint::check(HttpConnection& connection,
                                                                 const http::IncomingRequest& head) {
  const std::string* host = head.field("host");
  if (!host || !http::is_own_host(*host, connection.own_address(), settings_.hosts))
    return refusal(403, "the Host field does not name this server");
  const bool has_origin = head.count("origin") > 0;
  const std::string* origin = head.field("origin");
  if (has_origin && (!origin || !http::is_own_origin(*origin, *host, connection.own_address(), settings_.origins)))
    return refusal(403, "pages of this Origin may not use this server");
  if (origin) {
    connection.set_reply_fields(cross_origin_fields(*origin));
    if (auto answer = preflight_answer(head)) return *std::move(answer);
  }
  if (is_metadata_path(head.path(), settings_.path)) {  // read by clients that have no token yet
    const std::string metadata = head.method == "GET" ? connection.authenticator().metadata() : "";
    if (!metadata.empty()) return HttpAnswer{200, metadata, {}};
  }
  if (auto refused = check_caller(connection, head)) return refused;
  if (head.path() != settings_.path) return refusal(404, fmt::format("MCP is served at {}", settings_.path));
  if (head.method == "POST") {
    if (!is_json(head)) return refusal(415, "the Content-Type must be application/json");
    if (!accepts(head, kJson) && !accepts(head, "text/event-stream"))
      return refusal(406, "the client must accept application/json and text/event-stream");
    return {};
  }
  if ((head.method != "GET" && head.method != "DELETE") || head.count("mcp-session-id") == 0)
    return refusal(405, "send requests by POST; GET and DELETE are for sessions", "Allow: POST\r\n");
  if (head.method == "GET" && !accepts(head, "text/event-stream"))
    return refusal(406, "the client must accept text/event-stream");
  return {};
}

mcp::Conversation::Client HttpEndpoint::admitted(mcp::Principal principal) {
  mcp::Conversation::Client client;
  client.principal = std::move(principal);
  client.account = server_.accounts().of(client.principal);
  std::erase_if(users_, [](const auto& item) { return item.second.user.expired(); });
  const auto it = users_.find(client.principal.name());
  client.user = it == users_.end() ? nullptr : it->second.user.lock();
  if (client.user) return client;
  if (auto user = admit_(client.principal)) {
    client.user = *std::move(user);
    users_[client.principal.name()].user = client.user;
    users_[client.principal.name()].key = client.principal.key();
    set_good_until(client.principal.name(), client.principal.good_until());
  } else {
    client.refusal = std::move(user).error();
  }
  return client;
}

// A client may have a newer JWT before the old one expires, and requests with the old one still under way.
void HttpEndpoint::note_validity(const HttpConnection& connection, const mcp::Principal& principal) {
  const auto it = users_.find(principal.name());
  if (it == users_.end() || connection.own_address().empty()) return;
  const auto& until = it->second.good_until;
  const bool is_newer = principal.kind() != mcp::Principal::Kind::subject || until <= principal.good_until();
  if (!is_newer) return;
  it->second.key = principal.key();
  set_good_until(principal.name(), principal.good_until());
}

std::string HttpEndpoint::key_of(const std::string& principal) const {
  const auto it = users_.find(principal);
  return it == users_.end() ? std::string() : it->second.key;
}

void HttpEndpoint::set_good_until(const std::string& principal, std::optional<std::chrono::sys_seconds> until) {
  const auto it = users_.find(principal);
  if (it == users_.end()) return;
  it->second.good_until = until;
  if (!until || (next_expiry_ && *next_expiry_ <= *until)) return;
  next_expiry_ = until;
  check_clock_after(std::chrono::milliseconds(0));  // not now: a request is on the stack
}

void HttpEndpoint::check_clock_after(std::chrono::milliseconds time) {
  expiry_ = Deadline(loop_, time, [this] { end_expired(); });
}

// What a client began with credentials ends with them: event streams, sessions, requests. The system's clock decides,
// which may be set: so it is looked at once a minute at least.
void HttpEndpoint::end_expired() {
  const auto now = credentials::rights_now();
  next_expiry_.reset();
  std::set<std::shared_ptr<mcp::ConnectionUser>> expired;
  for (const auto& [name, one] : users_) {
    if (!one.good_until) continue;
    if (*one.good_until > now) {
      next_expiry_ = std::min(next_expiry_.value_or(*one.good_until), *one.good_until);
    } else if (auto user = one.user.lock()) {
      expired.insert(std::move(user));
    }
  }
  if (next_expiry_) check_clock_after(std::min<std::chrono::milliseconds>(*next_expiry_ - now, kLookAtClock));
  if (!expired.empty()) close_if([&expired](const auto& user) { return expired.contains(user); });
}

// The answer is the same for every token that is not good.
HttpConnection::Host::Refusal HttpEndpoint::refuse_caller(const HttpConnection& connection, const Denial& denial) {
  Refusal refused =
      refusal(401, Error{Code::denied,
                         0,
                         "a request over TCP needs a valid token",
                         "send the field Authorization: Bearer and the token; an administrator makes one: "
                         "warder token add",
                         {}});
  refused.answer.headers = "WWW-Authenticate: " + connection.authenticator().challenge(denial.reason) + "\r\n";
  if (auto wait = failed_.note(connection.client_address(), denial, Monotonic::now())) {
    refused.delay = wait->delay;
    refused.slot = std::move(wait->slot);
  } else {
    refused.ends = true;
  }
  return refused;
}

std::optional<HttpConnection::Host::Refusal> HttpEndpoint::check_caller(HttpConnection& connection,
                                                                        const http::IncomingRequest& head) {
  auto principal = connection.authenticator().authenticate(head);
  if (!principal) return refuse_caller(connection, principal.error());
  if (!connection.client() || connection.client()->principal.name() != principal->name()) {
    connection.set_client(admitted(*principal));
  }
  note_validity(connection, *principal);
  const mcp::Conversation::Client& client = *connection.client();
  if (client.refusal) return refusal(403, *client.refusal);
  if (const size_t own = client.account->http_connections; own > limits_.connections_per_principal)
    return refusal(503, Error{Code::exhausted,
                              0,
                              fmt::format("{} already has {} HTTP connections", client.principal.displayed(), own - 1),
                              "close one",
                              {}});
  return {};
}

std::unique_ptr<Responder> HttpEndpoint::respond(HttpConnection& connection, http::IncomingRequest request,
                                                 ServerReply& reply) {
  const mcp::Conversation::Client& client = *connection.client();
  if (request.method != "POST") return respond_with_session(request, client.principal, reply);
  const PostResponder::Parts parts{loop_, server_, sessions_, limits_.connection};
  return std::make_unique<PostResponder>(parts, reply, client, std::move(request));
}

std::unique_ptr<Responder> HttpEndpoint::respond_with_session(const http::IncomingRequest& request,
                                                              const mcp::Principal& principal, ServerReply& reply) {
  const std::string* id = request.field("mcp-session-id");
  const auto session = id ? sessions_.find(*id, principal) : nullptr;
  if (!session) {
    reply.send(unknown_session());
  } else if (request.method == "GET") {
    return session->open_stream(reply, request.field("last-event-id"));
  } else {
    sessions_.end(*id);
    reply.send({204, {}, {}});
  }
  return nullptr;
}

size_t HttpEndpoint::event_streams() const {
  const auto is_stream = [](const auto& item) { return item && item->is_streaming(); };
  return static_cast<size_t>(std::count_if(connections_.begin(), connections_.end(), is_stream));
}

void HttpEndpoint::pause() {
  for (const auto& connection : connections_)
    if (connection) connection->close_after_reply();
}

void HttpEndpoint::close_if(const std::function<bool(const std::shared_ptr<mcp::ConnectionUser>& user)>& chosen) {
  for (const auto& connection : connections_) {
    if (connection && connection->client() && connection->client()->user && chosen(connection->client()->user))
      connection->close();
  }
  sessions_.end_if(chosen);
  std::erase_if(users_, [&chosen](const auto& item) {  // a connection that ends may hold it for another moment
    const auto user = item.second.user.lock();
    return !user || chosen(user);
  });
}

}  // namespace streamable_http
