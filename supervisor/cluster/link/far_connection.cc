#include "supervisor/cluster/link/far_connection.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <optional>
#include <utility>

#include "supervisor/upstream/socket_transport.h"

namespace cluster {
namespace {

using namespace std::chrono_literals;

constexpr auto kLooksEvery = 500ms;
constexpr auto kSignOfLife = 2s;
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
Task<Result<std::shared_ptr<upstream::Client>>> FarConnection::client() {
  if (client_ && client_->over()) client_.reset();
  if (!client_) {
    auto done = std::make_shared<Event>();
    waiting_.push_back(done);
    if (!std::exchange(is_opening_, true)) tasks_.spawn(open());
    std::optional<Deadline> late;
    if (was_silent_) late.emplace(loop_, kOpenAfterSilence, [this, done] { loop_.defer([done] { done->fire(); }); });
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
    const auto asked = Monotonic::now();
    const uint64_t heard = client->bytes_heard();
    upstream::Client::Order order{"server/discover"};
    order.limit = kSignOfLife;
    const auto answer = co_await client->request(std::move(order));
    if (answer) hops_.add(std::chrono::duration_cast<std::chrono::microseconds>(Monotonic::now() - asked));
    if (!answer && client->bytes_heard() == heard && !client->is_sending() && client_ == client) give_up();
  }
  is_watching_ = false;
}

// The client reads the end of the stream, and its requests fail.
void FarConnection::give_up() {
  if (socket_) ::shutdown(socket_.get(), SHUT_RDWR);
  client_.reset();
  was_silent_ = true;
}

}  // namespace cluster
