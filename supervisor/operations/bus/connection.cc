#include "supervisor/operations/bus/connection.h"

#include <fmt/format.h>
#include <poll.h>

namespace bus {
namespace {

constexpr int kMessagesInTurn = 32;  // or kTurnNs; then other work of the loop has its turn
constexpr uint64_t kTurnNs = 1'000'000;
constexpr uint64_t kCongested = 1'000;  // messages

Result<BusPtr> start(const std::string& where) {
  sd_bus* created = nullptr;
  int r = 0;
  // These calls only begin to connect; the loop finishes it.
  if (where == "system") {
    r = sd_bus_open_system_with_description(&created, "warderd");
  } else if (where == "session") {
    r = sd_bus_open_user_with_description(&created, "warderd");
  } else {
    r = sd_bus_new(&created);
    if (r >= 0) r = sd_bus_set_address(created, where.c_str());
    if (r >= 0) r = sd_bus_set_bus_client(created, 1);
    if (r >= 0) r = sd_bus_start(created);
  }
  BusPtr bus(created);
  if (r < 0) return fail_errno(-r, fmt::format("connect to the bus '{}'", where), Code::unavailable);
  return bus;
}

}  // namespace

Result<std::unique_ptr<BusConnection>> BusConnection::open(Loop& loop, const std::string& where,
                                                           std::function<void(std::string)> lost) {
  std::unique_ptr<BusConnection> connection(new BusConnection(loop, std::move(lost)));
  TRY(connection->bus_, start(where));
  connection->timer_.reset(new Timer{{}, connection.get()});
  connection->prepare_.reset(new Prepare{{}, connection.get()});
  uv_timer_init(loop.uv(), &connection->timer_->handle);
  uv_prepare_init(loop.uv(), &connection->prepare_->handle);
  connection->timer_->handle.data = connection->timer_.get();
  connection->prepare_->handle.data = connection->prepare_.get();
  // The events that sd-bus waits for change with every call to sd-bus, so they are read before each wait of the loop.
  uv_prepare_start(&connection->prepare_->handle,
                   [](uv_prepare_t* h) { static_cast<Prepare*>(h->data)->owner->arm(); });
  uv_unref(reinterpret_cast<uv_handle_t*>(&connection->prepare_->handle));
  return connection;
}

BusConnection::~BusConnection() = default;

void BusConnection::arm() {
  if (!lost_) return;
  const int fd = sd_bus_get_fd(bus_.get()), wanted = sd_bus_get_events(bus_.get());
  uint64_t until = UINT64_MAX;
  const int timed = sd_bus_get_timeout(bus_.get(), &until);
  if (fd < 0 || wanted < 0 || timed < 0) return lose(fd < 0 ? -fd : wanted < 0 ? -wanted : -timed);
  if (fd != fd_) {
    poll_.reset(new Poll{{}, this});
    poll_->handle.data = poll_.get();
    if (int r = uv_poll_init(loop_.uv(), &poll_->handle, fd); r < 0) return lose(-r);
    fd_ = fd;
    events_ = 0;
  }
  const int events = (wanted & POLLIN ? UV_READABLE : 0) | (wanted & POLLOUT ? UV_WRITABLE : 0) | UV_DISCONNECT;
  if (events != events_) {
    events_ = events;
    uv_poll_start(&poll_->handle, events,
                  [](uv_poll_t* h, int, int) { static_cast<Poll*>(h->data)->owner->process(); });
  }
  if (until == UINT64_MAX) {
    uv_timer_stop(&timer_->handle);
    return;
  }
  const uint64_t now = uv_hrtime() / 1000;  // both are CLOCK_MONOTONIC
  uv_timer_start(
      &timer_->handle, [](uv_timer_t* h) { static_cast<Timer*>(h->data)->owner->process(); },
      until <= now ? 0 : (until - now + 999) / 1000, 0);
}

void BusConnection::process() {
  const NamedWork named_work(LoopWork::bus);
  const uint64_t until = uv_hrtime() + kTurnNs;
  for (int i = 0; i < kMessagesInTurn && lost_ && uv_hrtime() < until; i++) {
    const int r = sd_bus_process(bus_.get(), nullptr);
    if (r < 0) return lose(-r);
    if (r == 0) return;
  }
}

void BusConnection::lose(int error) {
  if (poll_) uv_poll_stop(&poll_->handle);
  uv_timer_stop(&timer_->handle);
  uv_prepare_stop(&prepare_->handle);
  if (auto lost = std::exchange(lost_, nullptr)) {
    loop_.defer([lost = std::move(lost), why = std::generic_category().message(error)] { lost(why); });
  }
}

bool BusConnection::congested() const {
  uint64_t queued = 0;
  return sd_bus_get_n_queued_write(bus_.get(), &queued) < 0 || queued > kCongested;
}

Task<Result<MessagePtr>> BusConnection::call(MessagePtr message, std::chrono::seconds patience) {
  struct WaitingAnswer {
    Event answered;
    MessagePtr reply;
  } waiting;
  auto take = [](sd_bus_message* reply, void* data, sd_bus_error*) {
    auto& request = *static_cast<WaitingAnswer*>(data);
    request.reply = share(reply);
    request.answered.fire();
    return 1;
  };
  sd_bus_slot* slot = nullptr;
  const auto limit = std::chrono::duration_cast<std::chrono::microseconds>(patience).count();
  const int r = sd_bus_call_async(bus_.get(), &slot, message.get(), take, &waiting, static_cast<uint64_t>(limit));
  if (r < 0) co_return fail_errno(-r, "call over the bus", Code::unavailable);
  SlotPtr slot_ptr(slot);  // if the task is cancelled, this removes the callback
  co_await waiting.answered;
  if (const sd_bus_error* error = sd_bus_message_get_error(waiting.reply.get())) {
    const bool refused = sd_bus_error_has_name(error, SD_BUS_ERROR_ACCESS_DENIED) != 0;
    co_return fail(refused ? Code::denied : Code::unavailable, error->message ? error->message : error->name);
  }
  co_return std::move(waiting.reply);
}

}  // namespace bus
