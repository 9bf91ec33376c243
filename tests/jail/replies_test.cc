#include "jail/replies.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "tests/catch.h"
#include "tests/jail/await.h"

using jail::GuestChannel;
using jail::Replies;
using nlohmann::json;

namespace {

// A jail that reads when the test says so.
class SlowJail {
 public:
  explicit SlowJail(Loop& loop) {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
    guest_ = Fd(ends[1]);
    auto socket = AsyncFd::adopt(loop, Fd(ends[0]));
    REQUIRE(socket);
    daemon = GuestChannel(*std::move(socket));
  }
  // The next whole message, once it is there.
  json read(Loop& loop) {
    std::string text;
    std::vector<char> packet(GuestChannel::kPacketBytes);
    for (bool whole = false; !whole;) {
      ssize_t got = -1;
      REQUIRE(run_until(loop, [&] { return (got = ::recv(guest_.get(), packet.data(), packet.size(), 0)) > 0; }));
      text.append(packet.data() + 1, static_cast<size_t>(got) - 1);
      whole = packet[0] == 'F';
    }
    return json::parse(text);
  }
  GuestChannel daemon;

 private:
  Fd guest_;
};

constexpr size_t kLarge = 1 << 20;

Result<json> large() { return json(std::string(kLarge, 'x')); }

}  // namespace

TEST_CASE("replies go one after the other, each whole", "[jail]") {
  Loop loop;
  SlowJail jailed(loop);
  Replies::Room room;
  Replies replies(jailed.daemon, room);
  Scope scope(loop);
  scope.spawn(replies.send(1, large()));
  scope.spawn(replies.send(2, json{{"value", 2}}));
  scope.spawn(replies.send(3, fail(Code::denied, "no", "ask", "calls.tools")));
  CHECK(replies.sending());
  const json first = jailed.read(loop), second = jailed.read(loop), third = jailed.read(loop);
  CHECK(first["id"] == 1);
  CHECK(first["result"].get_ref<const std::string&>().size() == kLarge);
  CHECK(second == json{{"type", "reply"}, {"id", 2}, {"result", {{"value", 2}}}});
  CHECK(third["error"] == json{{"code", "denied"}, {"message", "no"}, {"remedy", "ask"}, {"rule", "calls.tools"}});
  REQUIRE(run_until(loop, [&] { return !replies.sending(); }));
  CHECK(room.taken == 0);
}

TEST_CASE("jails that do not read take a bounded room together, and small replies always go", "[jail]") {
  Loop loop;
  SlowJail slow(loop), other(loop);
  Replies::Room room{.bytes = 8 << 20};
  Replies others(other.daemon, room);
  Scope scope(loop);
  {
    Replies replies(slow.daemon, room);
    Scope sending(loop);
    for (int64_t id = 1; room.taken + kLarge < room.bytes; id++) sending.spawn(replies.send(id, large()));
    CHECK(room.taken <= room.bytes);
    scope.spawn(others.send(1, large()));
    scope.spawn(others.send(2, json(std::string(Replies::Room::kSmall / 2, 'x'))));
    const json refused = other.read(loop), small = other.read(loop);
    REQUIRE(refused.contains("error"));
    CHECK(refused["error"]["code"] == "exhausted");
    CHECK(refused["error"]["message"] == "answers of 7 MB wait for jails to read them");
    REQUIRE(small.contains("result"));
    CHECK(small["result"].is_string());
    CHECK(slow.read(loop)["result"].is_string());  // what was queued is not lost
  }
  REQUIRE(run_until(loop, [&] { return !others.sending(); }));
  CHECK(room.taken == 0);  // the slow one is gone
  scope.spawn(others.send(3, large()));
  CHECK(other.read(loop)["result"].is_string());
}
