#include "supervisor/programs/agent/json_server.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "supervisor/base/json/json.h"
#include "supervisor/protocol/http/send_reply.h"

namespace agent {
namespace {

using namespace std::chrono_literals;

constexpr size_t kMaxBodyBytes = 2 << 20;
constexpr size_t kMaxUnreadBytes = 4 << 20;  // that are read after a refusal, so that the client can read it
constexpr auto kRequestTime = 30s;           // for a client to send its request, and again to read the answer
constexpr auto kAcceptPause = 100ms;         // after accept4(2) failed

const char* status_text(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 202:
      return "Accepted";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 503:
      return "Service Unavailable";
    default:
      return status < 500 ? "Bad Request" : "Internal Server Error";
  }
}

std::string reply_bytes(const JsonReply& reply) {
  const std::string body = dump_json(reply.body) + "\n";
  return fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nCache-Control: no-store\r\n"
      "Connection: close\r\n{}\r\n{}",
      reply.status, status_text(reply.status), body.size(), reply.headers, body);
}

// Fires `over` when the client has closed its connection, or its output. Bytes after the request are dropped.
Task<> watch_hangup(AsyncFd& client, Event& over) {
  std::array<char, 4096> dropped;
  for (;;) {
    const ssize_t got = ::recv(client.get(), dropped.data(), dropped.size(), MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) co_return over.fire();
    if (got < 0) co_await client.readable();
  }
}

Task<> send(Loop& loop, AsyncFd& client, const JsonReply& reply) {
  const std::string bytes = reply_bytes(reply);
  const Deadline limit(loop, kRequestTime, [fd = client.get()] { ::shutdown(fd, SHUT_RDWR); });
  co_await http::send_reply(client, bytes, kMaxUnreadBytes);
}

}  // namespace

JsonReply json_refusal(int status, const std::string& why, std::string headers) {
  return {status, {{"error", why}}, std::move(headers)};
}

Result<std::unique_ptr<JsonServer>> JsonServer::open(Loop& loop, Fd socket, Host& host, size_t max_connections) {
  TRY(AsyncFd watched, AsyncFd::adopt(loop, std::move(socket)));
  std::unique_ptr<JsonServer> server(new JsonServer(loop, std::move(watched), host, max_connections));
  server->accepting_.spawn(server->accept_all());
  return server;
}

JsonServer::JsonServer(Loop& loop, AsyncFd socket, Host& host, size_t max_connections)
    : loop_(loop),
      socket_(std::move(socket)),
      host_(host),
      max_connections_(max_connections),
      clients_(loop),
      accepting_(loop) {}

void JsonServer::stop() {
  accepting_.cancel_all();
  socket_.close();
}

Task<> JsonServer::accept_all() {
  for (;;) {
    Fd client(::accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!client) {
      if (errno == EAGAIN) {
        co_await socket_.readable();
      } else if (errno != EINTR && errno != ECONNABORTED) {
        co_await sleep_for(loop_, kAcceptPause);
      }
      continue;
    }
    if (clients_.live() < max_connections_) {
      auto watched = AsyncFd::adopt(loop_, std::move(client));
      if (watched) clients_.spawn(serve(*std::move(watched)));
    }
    client.reset();  // a client that has no place is dropped
    co_await next_turn(loop_);
  }
}

Task<> JsonServer::serve(AsyncFd client) {
  http::RequestParser parser({.body_bytes = kMaxBodyBytes});
  JsonReply refusal;
  const Received received = co_await receive(client, parser, refusal);
  if (received == Received::end) co_return;
  if (received == Received::refusal) {
    co_await send(loop_, client, refusal);
    co_return;
  }
  std::optional<JsonReply> reply;
  {
    Event over;
    Scope work(loop_);
    work.spawn(watch_hangup(client, over));
    work.spawn(respond(parser.take(), reply, over));
    co_await over;
    co_await next_turn(loop_);  // the task that fired the event is not on the stack then
  }
  if (reply) co_await send(loop_, client, *reply);  // otherwise the client left
}

Task<> JsonServer::respond(http::IncomingRequest request, std::optional<JsonReply>& reply, Event& over) {
  Task<JsonReply> work = host_.respond(std::move(request));
  reply = co_await std::move(work);
  over.fire();
}

Task<JsonServer::Received> JsonServer::receive(AsyncFd& client, http::RequestParser& parser, JsonReply& refusal) {
  using State = http::RequestParser::State;
  const Deadline limit(loop_, kRequestTime, [fd = client.get()] { ::shutdown(fd, SHUT_RDWR); });
  bool is_checked = false;
  std::array<char, 16384> bytes;
  for (;;) {
    const ssize_t got = ::recv(client.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN) {
      co_await client.readable();
      continue;
    }
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) co_return Received::end;
    for (std::string_view remaining(bytes.data(), static_cast<size_t>(got));;) {
      remaining.remove_prefix(parser.feed(remaining));
      const bool has_head = parser.state() == State::body || parser.state() == State::full;
      if (parser.state() == State::refused) {
        refusal = json_refusal(parser.refused().status, parser.refused().why);
        co_return Received::refusal;
      }
      if (has_head && !std::exchange(is_checked, true)) {
        if (auto refused = host_.check(parser.request())) {
          refusal = *std::move(refused);
          co_return Received::refusal;
        }
        if (parser.request().expects_continue)
          (void)::send(client.get(), "HTTP/1.1 100 Continue\r\n\r\n", 25, MSG_NOSIGNAL | MSG_DONTWAIT);
      }
      if (parser.state() == State::full) co_return Received::request;
      if (remaining.empty()) break;
    }
  }
}

}  // namespace agent
