#include "supervisor/cluster/link/far_connection.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

namespace cluster {
namespace {

using namespace std::chrono_literals;

constexpr auto kLooksEvery = 500ms;
// From its last byte; it is asked within kLooksEvery, so it has at least 1.5 s to answer.
constexpr auto kSignOfLife = 2s;
// This daemon may have been stopped: what came meanwhile is read before the connection is judged.
constexpr auto kUnread = 10ms;
// For opening it again after a silence: so a failure is told 2.5 s after the node's last sign of life.
constexpr auto kOpenAfterSilence = 400ms;
constexpr auto kIdle = 60s;

}  // namespace

FarConnection::FarConnection(Loop& loop, NodeLink& link, upstream::Client::Reading reading, std::string node,
                             Acting acting, HopTimes& hops, std::function<void()> idle)
    : loop_(loop),
      link_(link),
      reading_(std::move(reading)),
      node_(std::move(node)),
      acting_(std::move(acting)),
      hops_(hops),
      idle_(std::move(idle)),
      tasks_(loop) {}

// The opening is a task of the connection: it continues when the request that began it is cancelled.
Task<Result<std::shared_ptr<upstream::Client>>> FarConnection::client(Monotonic::time_point until) {
  if (client_ && client_->over()) client_.reset();
  if (!client_) {
    auto done = std::make_shared<Event>();
    waiting_.push_back(done);
    if (!std::exchange(is_opening_, true)) tasks_.spawn(open());
    const auto now = Monotonic::now();
    if (was_silent_) until = std::min(until, now + kOpenAfterSilence);
    const auto limit = std::max(std::chrono::ceil<std::chrono::milliseconds>(until - now), 1ms);
    const Deadline late(loop_, limit, [this, done] { loop_.defer([done] { done->fire(); }); });
    co_await *done;
    if (!client_ && is_opening_) co_return fail(Code::unavailable, "it gives no sign of life");
  }
  if (!client_) co_return tl::unexpected<Error>(why_);
  co_return client_;
}

Task<> FarConnection::open() {
  auto opened = co_await link_.open(node_, acting_);
  is_opening_ = false;
  if (opened) {
    was_silent_ = false;
    socket_ = Fd(::fcntl(opened->socket.get(), F_DUPFD_CLOEXEC, 0));
    auto transport = std::make_unique<upstream::SocketTransport>(loop_, std::move(opened->socket));
    transport_ = transport.get();
    client_ = std::make_shared<upstream::Client>(loop_, reading_, std::move(transport), upstream::Variables{},
                                                 upstream::Client::Listener{});
    begin_watch();
  } else {
    why_ = std::move(opened).error();
  }
  for (const auto& done : std::exchange(waiting_, {})) loop_.defer([done] { done->fire(); });
}

void FarConnection::begin_use() {
  idle_after_ = Deadline();
  uses_++;
  begin_watch();
}

void FarConnection::end_use() {
  if (--uses_ == 0) idle_after_ = Deadline(loop_, kIdle, idle_);
}

void FarConnection::begin_watch() {
  if (client_ && !std::exchange(is_watching_, true)) tasks_.spawn(watch());
}

// Ends with the last use.
Task<> FarConnection::watch() {
  for (; uses_ > 0; co_await sleep_for(loop_, kLooksEvery)) {
    const auto client = client_;
    if (!client || client->over()) continue;
    const bool is_alive = co_await gives_a_sign(client);
    if (!is_alive && client_ == client) give_up();
  }
  is_watching_ = false;
}

// False: it was asked, and sent no byte for kSignOfLife. Bytes of another answer are a sign of life, too, up to then:
// they may have been on their way when the other warderd was lost.
Task<bool> FarConnection::gives_a_sign(std::shared_ptr<upstream::Client> client) {
  auto since = Monotonic::now() - kLooksEvery;
  while (client_ == client && !client->over()) {
    const auto asked = Monotonic::now();
    since = std::max(since, transport_->heard_at());
    upstream::Client::Order order{"server/discover"};
    order.limit = std::max(std::chrono::ceil<std::chrono::milliseconds>(since + kSignOfLife - asked), 1ms);
    const auto answer = co_await client->request(std::move(order));
    if (answer) {
      hops_.add(std::chrono::duration_cast<std::chrono::microseconds>(Monotonic::now() - asked));
      co_return true;
    }
    co_await sleep_for(loop_, kUnread);
    if (client_ != client || client->is_sending()) co_return true;
    if (transport_->heard_at() <= since) co_return false;
  }
  co_return true;
}

// The client reads the end of the stream, and its requests fail.
void FarConnection::give_up() {
  if (socket_) ::shutdown(socket_.get(), SHUT_RDWR);
  client_.reset();
  was_silent_ = true;
}

}  // namespace cluster
