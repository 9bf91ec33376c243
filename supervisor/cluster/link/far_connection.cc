#include "supervisor/cluster/link/far_connection.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "supervisor/base/log.h"
#include "supervisor/upstream/socket_transport.h"

namespace cluster {
namespace {

using namespace std::chrono_literals;

constexpr auto kTurn = 100ms;
constexpr auto kAskEvery = 300ms;
constexpr auto kAskLimit = 3s;  // a later answer is no sign of life
// Turns without a byte: from the first number on, another connection is opened beside the silent one; at the second one
// the silent one is given up, and the caller gets the failure within 2.5 s.
constexpr int kDoubtfulTurns = 18, kSilentTurns = 22;
// A request after a silence waits no longer for another connection.
constexpr auto kOpenAfterSilence = 200ms;
constexpr auto kIdle = 60s;

}  // namespace

FarConnection::FarConnection(Loop& loop, NodeLink& link, upstream::Client::Reading reading, std::string node,
                             NodeClient for_client, HopTimes& hops, std::function<void()> idle)
    : loop_(loop),
      link_(link),
      reading_(std::move(reading)),
      node_(std::move(node)),
      for_client_(std::move(for_client)),
      hops_(hops),
      idle_(std::move(idle)),
      tasks_(loop) {}

// The opening is a task of the connection: it continues when the request that began it is cancelled.
Task<Result<std::shared_ptr<upstream::Client>>> FarConnection::client(Monotonic::time_point until) {
  if (client_ && client_->over()) client_.reset();
  if (!client_) {
    auto done = std::make_shared<Event>();
    waiting_.push_back(done);
    begin_open();
    const auto now = Monotonic::now();
    if (was_silent_) until = std::min(until, opening_since_ + kOpenAfterSilence);
    const auto limit = std::max(std::chrono::ceil<std::chrono::milliseconds>(until - now), 1ms);
    const Deadline late(loop_, limit, [this, done] { loop_.defer([done] { done->fire(); }); });
    co_await *done;
    if (!client_ && is_opening_) co_return fail(Code::unavailable, "it gives no sign of life");
  }
  if (!client_) co_return tl::unexpected<Error>(why_);
  co_return client_;
}

void FarConnection::begin_open() {
  if (std::exchange(is_opening_, true)) return;
  opening_since_ = Monotonic::now();
  tasks_.spawn(open());
}

Task<> FarConnection::open() {
  auto opened = co_await link_.open(node_, for_client_);
  is_opening_ = false;
  const bool is_other_good = client_ && !client_->over() && silent_turns_ < kDoubtfulTurns;
  if (opened && !is_other_good) {
    if (client_ && !client_->over())
      log_warning("cluster: node {} gave no sign of life for {:.1f} s: a new connection replaces the silent one", node_,
                  kDoubtfulTurns * kTurn.count() / 1000.0);
    if (client_) end_socket();
    was_silent_ = false;
    socket_ = Fd(::fcntl(opened->socket.get(), F_DUPFD_CLOEXEC, 0));
    auto transport = std::make_unique<upstream::SocketTransport>(loop_, std::move(opened->socket));
    received_ = 0;
    silent_turns_ = 0;
    client_ = std::make_shared<upstream::Client>(loop_, reading_, std::move(transport), upstream::Variables{},
                                                 upstream::Client::Listener{});
    begin_watch();
  } else if (!opened) {
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

// Ends with the last use. It counts turns, not the time: while this daemon is stopped or busy, bytes may have come that
// are not read yet, and that is one turn. A question does not wait for the answer to the one before: on a slow way
// signs of life come as often as on a fast one.
Task<> FarConnection::watch() {
  for (silent_turns_ = 0; uses_ > 0;) {
    if (client_ && !client_->over() && Monotonic::now() - ping_sent_ >= kAskEvery) tasks_.spawn(ask_for_sign(client_));
    co_await sleep_for(loop_, kTurn);
    if (!client_ || client_->over()) continue;
    const uint64_t before = std::exchange(received_, client_->received_bytes());
    const bool is_silent = received_ == before && !client_->is_taking() && !client_->is_sending();
    silent_turns_ = is_silent ? silent_turns_ + 1 : 0;
    if (silent_turns_ >= kDoubtfulTurns) begin_open();
    if (silent_turns_ >= kSilentTurns) give_up();
  }
  is_watching_ = false;
}

Task<> FarConnection::ask_for_sign(std::shared_ptr<upstream::Client> client) {
  ping_sent_ = Monotonic::now();
  const auto started = ping_sent_;
  upstream::Client::Request order{"server/discover"};
  order.limit = kAskLimit;
  const auto answer = co_await client->request(std::move(order));
  if (answer) hops_.add(std::chrono::duration_cast<std::chrono::microseconds>(Monotonic::now() - started).count());
}

// The client reads the end of the stream, and its requests fail.
void FarConnection::end_socket() {
  if (socket_) ::shutdown(socket_.get(), SHUT_RDWR);
}

void FarConnection::give_up() {
  log_warning("cluster: node {} was silent for 2 s: a connection to its warderd is given up", node_);
  end_socket();
  client_.reset();
  was_silent_ = true;
}

}  // namespace cluster
