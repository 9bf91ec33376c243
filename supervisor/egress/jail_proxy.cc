#include "supervisor/egress/jail_proxy.h"

#include <sys/socket.h>

#include <cerrno>

#include "supervisor/egress/connection.h"

namespace egress {
namespace {

using namespace std::chrono_literals;

constexpr auto kAcceptPause = 100ms;  // after accept4(2) failed

}  // namespace

Result<std::unique_ptr<JailProxy>> JailProxy::open(Loop& loop, const EgressNetwork& network, JailSettings settings,
                                                   Fd listener, Host& host) {
  TRY(AsyncFd watched, AsyncFd::adopt(loop, std::move(listener)));
  std::unique_ptr<JailProxy> proxy(new JailProxy(loop, network, std::move(settings), std::move(watched), host));
  proxy->accepting_.spawn(proxy->accept_all());
  return proxy;
}

JailProxy::JailProxy(Loop& loop, const EgressNetwork& network, JailSettings settings, AsyncFd listener, Host& host)
    : loop_(loop),
      network_(network),
      settings_(std::move(settings)),
      listener_(std::move(listener)),
      host_(host),
      up_{settings_.rules.bytes_up},
      down_{settings_.rules.bytes_down},
      connections_(loop),
      accepting_(loop) {}

JailProxy::~JailProxy() = default;

EgressTotals JailProxy::totals() const { return {counts_.requests, counts_.denied, up_.used, down_.used}; }

// A client beyond the bound waits in the listener's queue.
Task<> JailProxy::accept_all() {
  for (;;) {
    while (open_ >= settings_.rules.connections) {
      slot_free_ = std::make_shared<Event>();
      co_await *slot_free_;
    }
    Fd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (client) {
      auto watched = AsyncFd::adopt(loop_, std::move(client));
      if (watched) {
        open_++;
        connections_.spawn(serve(*std::move(watched)));
      }
      co_await next_turn(loop_);
    } else if (errno == EAGAIN) {
      co_await listener_.readable();
    } else if (errno != EINTR && errno != ECONNABORTED) {
      co_await sleep_for(loop_, kAcceptPause);
    }
  }
}

Task<> JailProxy::serve(AsyncFd client) {
  const Deadline limit(loop_, settings_.rules.seconds, [fd = client.get()] { ::shutdown(fd, SHUT_RDWR); });
  EgressConnection connection(loop_, network_, settings_, host_, std::move(client), up_, down_, counts_);
  co_await connection.serve();
  open_--;
  if (slot_free_) loop_.defer([slot = std::exchange(slot_free_, nullptr)] { slot->fire(); });
}

}  // namespace egress
