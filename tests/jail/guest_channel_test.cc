#include "jail/talk/guest_channel.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <vector>

#include "jail/fd_message.h"
#include "jail/talk/guest_message.h"
#include "supervisor/base/json/json_value.h"
#include "tests/catch.h"
#include "tests/jail/await.h"
#include "tests/jail/descriptors.h"

using jail::GuestChannel;
using Message = Result<std::optional<Json>>;
using Text = Result<std::optional<std::string>>;

namespace {

// The daemon's end is a GuestChannel; the other is played by the test.
class Channel {
 public:
  Channel() {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
    guest = Fd(ends[1]);
    auto socket = AsyncFd::adopt(loop, Fd(ends[0]));
    REQUIRE(socket);
    daemon = GuestChannel(loop, *std::move(socket));
  }
  // Plays the packets, as fast as they are taken, and returns the first message or error.
  Message receive_after(const std::vector<std::string>& packets, bool then_close = false) {
    auto collect = [](GuestChannel& from, std::optional<Message>& into) -> Task<> {
      auto message = co_await from.receive();
      into.emplace(std::move(message));
    };
    std::optional<Message> answer;
    play(collect(daemon, answer), answer, packets, then_close);
    return *std::move(answer);
  }
  Text text_after(const std::vector<std::string>& packets) {
    auto collect = [](GuestChannel& from, std::optional<Text>& into) -> Task<> {
      auto text = co_await from.receive_text();
      into.emplace(std::move(text));
    };
    std::optional<Text> answer;
    play(collect(daemon, answer), answer, packets, false);
    return *std::move(answer);
  }
  template <class JailerAnswer>
  void play(Task<> collecting, std::optional<JailerAnswer>& answer, const std::vector<std::string>& packets,
            bool then_close) {
    Scope scope(loop);
    scope.spawn(std::move(collecting));
    size_t next = 0;
    REQUIRE(run_until(loop, [&] {
      while (next < packets.size() && !answer &&
             ::send(guest.get(), packets[next].data(), packets[next].size(), MSG_NOSIGNAL) >= 0)
        next++;
      if (next == packets.size() && then_close) guest.reset();
      return answer.has_value();
    }));
  }
  Loop loop;
  Fd guest;
  GuestChannel daemon;
};

std::string nested(int depth) {
  return "F{\"a\":" + std::string(static_cast<size_t>(depth), '[') + std::string(static_cast<size_t>(depth), ']') + "}";
}

}  // namespace

TEST_CASE("a message may come in one packet or in many", "[jail]") {
  Channel channel;
  auto full = channel.receive_after({R"(F{"type":"ready"})"});
  REQUIRE(full);
  CHECK((**full)["type"] == "ready");
  Channel many;
  auto joined = many.receive_after({R"(M{"ty)", "Mpe\":\"re", R"(Fady"})"});
  REQUIRE(joined);
  CHECK((**joined)["type"] == "ready");
}

TEST_CASE("messages come one by one, in order", "[jail]") {
  Channel channel;
  auto first = channel.receive_after({R"(F{"n":1})", R"(F{"n":2})"});
  REQUIRE(first);
  CHECK((**first)["n"] == 1);
  auto second = channel.receive_after({});
  REQUIRE(second);
  CHECK((**second)["n"] == 2);
}

TEST_CASE("what is outside of the protocol is an error that says what", "[jail]") {
  auto [packets, what] = GENERATE(table<std::vector<std::string>, std::string>({
      {{"garbage"}, "no part mark"},
      {{std::string("\0{}", 3)}, "no part mark"},
      {{"M"}, "an empty part"},
      {{"M{", "M"}, "an empty part"},
      {{"F"}, "JSON"},
      {{"F{"}, "JSON"},
      {{"F[1,2]"}, "not an object"},
      {{"F7"}, "not an object"},
      {{"F" + std::string(65'536, ' ')}, "over 64 KiB"},
      {{nested(70)}, "deep"},
  }));
  CAPTURE(what);
  Channel channel;
  auto message = channel.receive_after(packets);
  REQUIRE_FALSE(message);
  CHECK(message.error().code == Code::invalid);
  CHECK_THAT(message.error().what, Catch::Matchers::Contains(what));
}

TEST_CASE("nesting within the limit is read", "[jail]") {
  Channel channel;
  CHECK(channel.receive_after({nested(50)}));
}

TEST_CASE("a message over 8 MiB is refused before it is whole", "[jail]") {
  std::vector<std::string> packets(GuestChannel::kMaxUpBytes / 65'535 + 2, "M" + std::string(65'535, ' '));
  Channel channel;
  auto message = channel.receive_after(packets);
  REQUIRE_FALSE(message);
  CHECK_THAT(message.error().what, Catch::Matchers::Contains("over 8388608 bytes"));
}

TEST_CASE("a message just below 8 MiB is read", "[jail]") {
  std::vector<std::string> packets(120, "M" + std::string(65'535, ' '));
  packets.push_back(R"(F{"type":"result"})");
  Channel channel;
  auto text = channel.text_after(packets);
  REQUIRE(text);
  CHECK((*text)->size() > 120 * 65'535);
  auto guest_text = jail::read_guest_text(**text);
  REQUIRE(guest_text);
  CHECK(std::holds_alternative<jail::GuestResult>(*guest_text));
}

TEST_CASE("the first words of an interpreter are short", "[jail]") {
  Channel channel;
  auto message = channel.receive_after({"M" + std::string(65'535, ' '), R"(F {"type":"ready"})"});
  REQUIRE_FALSE(message);
  CHECK(message.error().code == Code::invalid);
}

TEST_CASE("a message may be limited to less", "[jail]") {
  Channel channel;
  channel.daemon.limit_messages(100);
  auto text = channel.text_after({"F" + std::string(101, ' ')});
  REQUIRE_FALSE(text);
  CHECK_THAT(text.error().what, Catch::Matchers::Contains("over 100 bytes"));
}

TEST_CASE("an end is an end, also within a message: its program was ended, or ended itself", "[jail]") {
  for (const auto& before : {std::vector<std::string>{}, std::vector<std::string>{"M{"}}) {
    Channel channel;
    auto end = channel.receive_after(before, true);
    REQUIRE(end);
    CHECK_FALSE(end->has_value());
  }
}

TEST_CASE("descriptors that a guest attaches are refused and do not stay", "[jail]") {
  Channel channel;
  size_t before = open_descriptors();
  Fd root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  REQUIRE(jail::send_message(channel.guest.get(), "F{}", 3, {root.get(), root.get()}));
  root.reset();
  auto message = channel.receive_after({});
  REQUIRE_FALSE(message);
  CHECK_THAT(message.error().what, Catch::Matchers::Contains("descriptors"));
  CHECK(open_descriptors() == before);
}

TEST_CASE("a long message goes out in marked parts, waiting for a slow reader", "[jail]") {
  Channel channel;
  std::string text = "{\"code\":\"" + std::string(1'000'000, 'x') + "\"}";
  bool sent = false;
  auto send = [](GuestChannel& to, std::string subject, bool& done) -> Task<> {
    auto result = co_await to.send(std::move(subject));
    done = result.has_value();
  };
  Scope scope(channel.loop);
  scope.spawn(send(channel.daemon, text, sent));
  CHECK_FALSE(sent);  // more than the socket holds
  std::string got, packet(70'000, '\0');
  bool final_part = false;
  REQUIRE(run_until(channel.loop, [&] {
    ssize_t n;
    while (!final_part && (n = ::recv(channel.guest.get(), packet.data(), packet.size(), MSG_DONTWAIT)) > 0) {
      REQUIRE(n <= static_cast<ssize_t>(GuestChannel::kPacketBytes));
      final_part = packet[0] == 'F';
      got.append(packet, 1, static_cast<size_t>(n) - 1);
    }
    return final_part;
  }));
  CHECK(got == text);
  CHECK(run_until(channel.loop, [&] { return sent; }));
}

TEST_CASE("a descriptor goes down behind the message that announces it", "[jail]") {
  Channel channel;
  const Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  std::optional<Result<>> sent;
  auto send = [](GuestChannel& to, int fd, std::optional<Result<>>& into) -> Task<> {
    auto text = co_await to.send(R"({"type":"run","descriptor":true})");
    REQUIRE(text);
    auto done = co_await to.send_descriptor(fd);
    into.emplace(std::move(done));
  };
  Scope scope(channel.loop);
  scope.spawn(send(channel.daemon, null.get(), sent));
  REQUIRE(run_until(channel.loop, [&] { return sent.has_value(); }));
  CHECK(sent->has_value());
  char text[64];
  REQUIRE(::recv(channel.guest.get(), text, sizeof text, 0) > 1);
  CHECK(text[0] == 'F');
  char packet[1];
  auto received = jail::receive_message(channel.guest.get(), packet, 1, 1);
  REQUIRE(received);
  CHECK(packet[0] == 'D');
  CHECK(received->fds.size() == 1);
}

TEST_CASE("sending to a guest that is gone is an error, not a signal", "[jail]") {
  Channel channel;
  channel.guest.reset();
  auto sent = await(channel.loop, channel.daemon.send("{}"));
  REQUIRE_FALSE(sent);
  CHECK(sent.error().code == Code::unavailable);
}
