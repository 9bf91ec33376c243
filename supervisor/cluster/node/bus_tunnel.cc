#include "supervisor/cluster/node/bus_tunnel.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

namespace cluster {
namespace {

using namespace std::chrono_literals;

constexpr size_t kMaxOfFrame = 256 << 10;      // bytes of a data frame
constexpr size_t kAcknowledgeAfter = 1 << 20;  // bytes
constexpr auto kAliveEvery = 500ms;
constexpr size_t kHeadBytes = 9;  // kind, bytes written

void append_number(std::string& text, uint64_t number) {
  for (int i = 0; i < 8; i++) text += static_cast<char>(number >> (8 * i));
}

uint64_t read_number(std::string_view bytes) {
  uint64_t number = 0;
  for (size_t i = 0; i < 8; i++) number |= uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return number;
}

}  // namespace

BusTunnel::BusTunnel(Loop& loop, Bus& bus, FrameCipher cipher, Ends ends, std::function<void()> ended)
    : loop_(loop),
      bus_(bus),
      cipher_(std::move(cipher)),
      ends_(std::move(ends)),
      ended_(std::move(ended)),
      tasks_(loop) {}

BusTunnel::~BusTunnel() {
  if (!has_ended_) send(FrameKind::end);
}

void BusTunnel::begin() {
  tasks_.spawn(read_local());
  tasks_.spawn(read_other());
  tasks_.spawn(stay_alive());
}

// False: the bus does not take it, and the connection cannot continue: its next frame would be missing.
bool BusTunnel::send(FrameKind kind, std::string_view bytes) {
  std::string content(1, static_cast<char>(kind));
  append_number(content, written_);
  content += bytes;
  reported_ = written_;
  return static_cast<bool>(bus_.publish(ends_.other, cipher_.seal(content)));
}

Task<> BusTunnel::read_local() {
  std::vector<char> space(kMaxOfFrame);
  for (;;) {
    while (sent_ - acknowledged_ >= kWindow) {
      room_ = std::make_shared<Event>();
      const auto room = room_;
      co_await *room;
    }
    const ssize_t got = ::recv(ends_.local.get(), space.data(), space.size(), MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) {
      co_await ends_.local.readable();
      continue;
    }
    if (got <= 0) break;
    sent_ += static_cast<uint64_t>(got);
    if (!send(FrameKind::data, {space.data(), static_cast<size_t>(got)})) break;
    co_await next_turn(loop_);
  }
  send(FrameKind::end);
  end();
}

Task<> BusTunnel::read_other() {
  for (;;) {
    auto message = co_await ends_.from_other->next();
    if (!message || message->dropped_before > 0) break;
    const auto content = cipher_.open(message->bytes);
    if (!content || content->size() < kHeadBytes) break;
    last_received_ = Monotonic::now();
    const uint64_t acknowledged = read_number(std::string_view(*content).substr(1));
    if (acknowledged > sent_ || acknowledged < acknowledged_) break;
    acknowledged_ = acknowledged;
    if (room_) std::exchange(room_, nullptr)->fire();
    const auto kind = static_cast<FrameKind>(content->front());
    if (kind == FrameKind::end) break;
    if (kind == FrameKind::data) {
      is_writing_ = true;
      const bool is_written = co_await write_local(std::string_view(*content).substr(kHeadBytes));
      is_writing_ = false;
      last_received_ = Monotonic::now();
      if (!is_written) break;
      if (written_ - reported_ >= kAcknowledgeAfter && !send(FrameKind::alive)) break;
    }
  }
  end();
}

Task<bool> BusTunnel::write_local(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(ends_.local.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) {
      co_await ends_.local.writable();
      continue;
    }
    if (sent < 0) co_return false;
    written_ += static_cast<uint64_t>(sent);
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  co_return true;
}

// While the bus is not connected, nothing is sent: frames that wait would come late, all at once.
Task<> BusTunnel::stay_alive() {
  for (;;) {
    co_await sleep_for(loop_, kAliveEvery);
    if (!is_writing_ && Monotonic::now() - last_received_ > kSilence) break;
    if (bus_.state() == BusState::connected && !send(FrameKind::alive)) break;
  }
  send(FrameKind::end);
  end();
}

void BusTunnel::close() {
  if (!has_ended_) send(FrameKind::end);
  end();
}

void BusTunnel::end() {
  if (std::exchange(has_ended_, true)) return;
  ::shutdown(ends_.local.get(), SHUT_RDWR);
  if (ended_) ended_();
}

}  // namespace cluster
