// What a jailed runner says to the daemon: packets into messages, and messages into calls and results. The code in the
// jail can write all of it. The first byte says how the rest is cut: '\n' each line is a packet with its mark, 'L' the
// first line comes again and again until it is too much, else all of it is one message.
#include <sys/socket.h>
#include <uv.h>

#include <cstdint>
#include <cstdlib>
#include <vector>

#include "jail/talk/guest_channel.h"
#include "jail/talk/guest_message.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/log.h"

namespace {

using jail::GuestChannel;

constexpr size_t kMaxPackets = 300;

void require(bool holds) {
  if (!holds) std::abort();
}

void check_call(const jail::GuestCall& call) {
  const Json reply = {{"type", "reply"}, {"id", call.id}, {"result", call.arguments}};
  require(call.id.is_number_integer() && Json::accept(dump_json(reply)));
}

void check_result(const jail::GuestResult& result) {
  require(!result.status || (*result.status >= 0 && *result.status < 256));
  require(result.images.size() <= 8);
  for (const auto& image : result.images) require(image.mime.starts_with("image/") && !image.base64.empty());
  require(result.failed || (result.error.empty() && result.traceback.empty() && !result.error_number));
  if (result.value) require(Json::accept(dump_json(*result.value)));
}

void check_message(std::string_view text) {
  const auto guest_text = jail::read_guest_text(text);
  if (!guest_text) {
    require(guest_text.error().code == Code::invalid && !guest_text.error().what.empty());
  } else if (const auto* call = std::get_if<jail::GuestCall>(&*guest_text)) {
    check_call(*call);
  } else {
    check_result(std::get<jail::GuestResult>(*guest_text));
  }
}

struct Heard {
  size_t messages = 0;
  bool over = false;
};

Task<> hear(GuestChannel& channel, Heard& received) {
  for (;;) {
    auto message = co_await channel.receive_text();
    if (!message) require(message.error().code == Code::invalid || message.error().code == Code::unavailable);
    if (!message || !message->has_value()) break;
    received.messages++;
    check_message(**message);
  }
  received.over = true;
}

std::vector<std::string> packets_of(char how, std::string_view rest) {
  std::vector<std::string> packets;
  if (how == '\n' || how == 'L') {
    for (size_t at = 0; at <= rest.size() && packets.size() < kMaxPackets;) {
      const size_t end = std::min(rest.find('\n', at), rest.size());
      if (end > at) packets.emplace_back(rest.substr(at, end - at));
      at = end + 1;
    }
    if (how == 'L' && !packets.empty()) {
      packets.front().resize(GuestChannel::kPacketBytes, ' ');
      packets.assign(kMaxPackets, packets.front());
    }
    return packets;
  }
  do {
    const std::string_view part = rest.substr(0, GuestChannel::kPacketBytes - 1);
    rest.remove_prefix(part.size());
    packets.push_back((rest.empty() ? "F" : "M") + std::string(part));
  } while (!rest.empty());
  return packets;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static Loop* loop = new Loop;  // never destroyed: the fuzzer leaves by _exit()
  if (size == 0) return 0;
  const auto packets = packets_of(static_cast<char>(data[0]), {reinterpret_cast<const char*>(data) + 1, size - 1});
  int ends[2];
  require(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
  Fd guest(ends[1]);
  auto socket = AsyncFd::adopt(*loop, Fd(ends[0]));
  require(socket.has_value());
  GuestChannel channel(*loop, *std::move(socket));
  Heard received;
  {
    Scope scope(*loop);
    scope.spawn(hear(channel, received));
    for (size_t next = 0; next < packets.size() && !received.over;) {
      if (::send(guest.get(), packets[next].data(), packets[next].size(), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) next++;
      uv_run(loop->uv(), UV_RUN_NOWAIT);
    }
    guest.reset();
    for (int turns = 0; turns < 1000 && !received.over; turns++) uv_run(loop->uv(), UV_RUN_NOWAIT);
  }
  require(received.over);
  require(received.messages <= packets.size());
  (void)channel.left_unread();
  return 0;
}
