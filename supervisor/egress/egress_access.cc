#include "supervisor/egress/egress_access.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>

namespace egress {
namespace {

using namespace std::chrono_literals;

constexpr auto kAskInterval = 100ms;  // after a failure, before the service is asked again
constexpr int kWaitingConnections = 128;

void refuse_connections(int listener) { ::shutdown(listener, SHUT_RDWR); }

// Closes the connections that wait.
void drop_connections(int listener) {
  for (;;) {
    const Fd dropped(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!dropped && errno != ECONNABORTED && errno != EINTR) return;
  }
}

}  // namespace

EgressAccess::EgressAccess(Loop& loop, EgressLink& link, const policies::EgressRules& rules, Host& host)
    : loop_(loop), link_(link), rules_(rules), host_(host), waiting_(loop) {}

EgressAccess::~EgressAccess() { stop(); }

// The listener is the jail's, and a session's jail goes on: between two programs it takes no connection.
void EgressAccess::stop() {
  waiting_.cancel_all();
  closed_.reset();
  if (listener_) refuse_connections(listener_.get());
  listener_.close();
}

Result<> EgressAccess::begin(int listener, Secrets secrets) {
  stop();
  use_.reset();
  secrets_ = std::move(secrets);
  Fd own(::fcntl(listener, F_DUPFD_CLOEXEC, 3));
  if (!own) return fail_errno(errno, "keep the listener of a jail", Code::exhausted);
  TRY(listener_, AsyncFd::adopt(loop_, std::move(own)));
  if (::listen(listener_.get(), kWaitingConnections) < 0)
    return fail_errno(errno, "a process in the jail has taken the port of the proxy", Code::unavailable);
  waiting_.spawn(hand_over());
  return {};
}

Task<> EgressAccess::hand_over() {
  for (;;) {
    co_await listener_.readable();
    auto use = link_.open(listener_.get(), rules_, secrets_, *this);
    if (use) {
      OneShot<> removed(loop_);
      closed_ = removed.resolver();
      use_ = *std::move(use);
      co_await removed;
      use_.reset();
      trouble_ = "warder-egress ended while the program ran";
    } else {
      trouble_ = "warder-egress does not answer: " + use.error().what;
      drop_connections(listener_.get());
    }
    co_await sleep_for(loop_, kAskInterval);
  }
}

void EgressAccess::lost() {
  if (closed_) closed_->resolve({});
}

Task<std::optional<EgressTotals>> EgressAccess::finish() {
  stop();
  if (!use_) co_return std::nullopt;
  auto totals = co_await use_->finish();
  use_.reset();
  co_return totals;
}

}  // namespace egress
