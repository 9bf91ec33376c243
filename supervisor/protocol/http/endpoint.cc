#include "supervisor/protocol/http/endpoint.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "supervisor/protocol/http/send_reply.h"

namespace http {
namespace {

using namespace std::chrono_literals;

constexpr size_t kMaxClients = 16;
constexpr size_t kMaxWithEnding = 32;  // with those that were disconnected and are gone a turn later
constexpr size_t kMaxUnread = 64 << 10;
constexpr auto kPatience = 5s;      // limit for a client to send its request, and again to read the answer
constexpr auto kExhausted = 100ms;  // pause after accept4(2) failed

}  // namespace

// The daemon waits for this client, not the client for the daemon. The number does not change.
class Endpoint::WaitingClient {
 public:
  WaitingClient(Endpoint& endpoint, uint64_t number, int socket) : endpoint_(endpoint), number_(number) {
    endpoint_.waiting_.emplace(number, socket);
  }
  ~WaitingClient() { endpoint_.waiting_.erase(number_); }
  WaitingClient(const WaitingClient&) = delete;

 private:
  Endpoint& endpoint_;
  uint64_t number_;
};

Result<std::unique_ptr<Endpoint>> Endpoint::open(Loop& loop, Fd socket, Handler handler) {
  return make(loop, std::move(socket), std::move(handler), nullptr);
}

Result<std::unique_ptr<Endpoint>> Endpoint::open_for_tasks(Loop& loop, Fd socket, TaskHandler handler) {
  return make(loop, std::move(socket), nullptr, std::move(handler));
}

Result<std::unique_ptr<Endpoint>> Endpoint::make(Loop& loop, Fd socket, Handler handler, TaskHandler task_handler) {
  const int flags = ::fcntl(socket.get(), F_GETFL);
  if (flags < 0 || ::fcntl(socket.get(), F_SETFL, flags | O_NONBLOCK) < 0) return fail_errno(errno, "fcntl");
  TRY(AsyncFd watched, AsyncFd::adopt(loop, std::move(socket)));
  std::unique_ptr<Endpoint> endpoint(
      new Endpoint(loop, std::move(watched), std::move(handler), std::move(task_handler)));
  endpoint->accepting_.spawn(endpoint->accept_all());
  return endpoint;
}

Endpoint::Endpoint(Loop& loop, AsyncFd socket, Handler handler, TaskHandler task_handler)
    : loop_(loop),
      socket_(std::move(socket)),
      handler_(std::move(handler)),
      task_handler_(std::move(task_handler)),
      clients_(loop),
      accepting_(loop) {}

Task<std::string> Endpoint::answer(std::string_view request) {
  if (!task_handler_) co_return answer_to(request, handler_);
  const ReadRequest read = read_request(request, Methods::read_and_post);
  if (!read.requested) co_return text_of(read.refused, "GET");
  Task<Response> work = task_handler_(*read.requested);
  const Response response = co_await std::move(work);
  co_return text_of(response, read.requested->method);
}

// False: each client waits for its answer.
bool Endpoint::end_oldest() {
  if (waiting_.empty()) return false;
  ::shutdown(waiting_.begin()->second, SHUT_RDWR);  // what was sent to it already still reaches it
  waiting_.erase(waiting_.begin());
  return true;
}

Task<> Endpoint::accept_all() {
  for (;;) {
    Fd client(::accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!client) {
      if (errno == EAGAIN) {
        co_await socket_.readable();
      } else if (errno != EINTR && errno != ECONNABORTED) {
        co_await sleep_for(loop_, kExhausted);
      }
      continue;
    }
    const size_t live = clients_.live();
    if (live < kMaxClients || (live < kMaxWithEnding && end_oldest())) {
      auto watched = AsyncFd::adopt(loop_, std::move(client));
      if (watched) clients_.spawn(serve(*std::move(watched)));
    }
    client.reset();  // a client that has no place is dropped
    // Clients that were answered in this turn are removed from clients_ in the next one.
    co_await next_turn(loop_);
  }
}

Task<> Endpoint::serve(AsyncFd client) {
  const uint64_t number = next_number_++;
  std::optional<WaitingClient> waiting(std::in_place, *this, number, client.get());
  // Bytes that are here at the limit are still read and answered: the delay may be the daemon's.
  Deadline limit(loop_, kPatience, [fd = client.get()] { ::shutdown(fd, SHUT_RD); });
  std::string request;
  char chunk[1024];
  while (!is_whole(request) && request.size() < kMaxRequest) {
    const ssize_t got = ::recv(client.get(), chunk, sizeof chunk, 0);
    if (got > 0) {
      request.append(chunk, static_cast<size_t>(got));
    } else if (got < 0 && errno == EAGAIN) {
      co_await client.readable();
    } else if (got == 0 || errno != EINTR) {
      co_return;
    }
  }
  limit = Deadline();
  waiting.reset();
  const std::string answered = co_await answer(request);
  waiting.emplace(*this, number, client.get());
  limit = Deadline(loop_, kPatience, [fd = client.get()] { ::shutdown(fd, SHUT_RDWR); });
  co_await send_reply(client, answered, kMaxUnread);
}

}  // namespace http
