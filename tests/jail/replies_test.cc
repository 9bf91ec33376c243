#include "jail/talk/replies.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <map>

#include <vector>

#include "supervisor/base/json/json_value.h"
#include "tests/catch.h"
#include "tests/jail/await.h"

using jail::GuestChannel;
using jail::Replies;

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
    daemon = GuestChannel(loop, *std::move(socket));
  }
  // The next whole message, once it is there.
  Json read(Loop& loop) {
    std::string text;
    std::vector<char> packet(GuestChannel::kPacketBytes);
    for (bool full = false; !full;) {
      ssize_t got = -1;
      REQUIRE(run_until(loop, [&] { return (got = ::recv(guest_.get(), packet.data(), packet.size(), 0)) > 0; }));
      text.append(packet.data() + 1, static_cast<size_t>(got) - 1);
      full = packet[0] == 'F';
    }
    return Json::parse(text);
  }
  GuestChannel daemon;

 private:
  Fd guest_;
};

constexpr size_t kLarge = 1 << 20;

Result<Json> large() { return Json(std::string(kLarge, 'x')); }

}  // namespace

TEST_CASE("replies go whole, one after the other", "[jail]") {
  Loop loop;
  SlowJail jailed(loop);
  Replies::Room room;
  Work json(loop);
  Replies replies(jailed.daemon, room, json, {"a"});
  Scope scope(loop);
  scope.spawn(replies.send(1, large()));
  scope.spawn(replies.send(2, Json{{"value", 2}}));
  scope.spawn(replies.send(3, fail(Code::denied, "no", "ask", "calls.tools")));
  CHECK(replies.sending());
  std::map<int, Json> by_id;  // a large one is written on a thread: others overtake it
  for (int i = 0; i < 3; i++) {
    Json reply = jailed.read(loop);
    const int id = reply["id"].get<int>();
    by_id[id] = std::move(reply);
  }
  const Json &first = by_id[1], &second = by_id[2], &third = by_id[3];
  CHECK(first["result"].get_ref<const std::string&>().size() == kLarge);
  CHECK(second == Json{{"type", "reply"}, {"id", 2}, {"result", {{"value", 2}}}});
  CHECK(third["error"] == Json{{"code", "denied"}, {"message", "no"}, {"remedy", "ask"}, {"rule", "calls.tools"}});
  REQUIRE(run_until(loop, [&] { return !replies.sending(); }));
  CHECK(room.claimed == 0);
}

TEST_CASE("who counts is told each result as it goes, and no refusal", "[jail]") {
  Loop loop;
  SlowJail jailed(loop);
  Replies::Room room;
  Work json(loop);
  std::vector<std::string> report;
  Replies replies(jailed.daemon, room, json, {"a"}, [&](std::string_view text) { report.emplace_back(text); });
  Scope scope(loop);
  const std::vector<Json> results = {Json{{"value", 2}}, Json(), large().value(),
                                     Json(std::vector<Json>(300'000, Json::array()))};
  for (const Json& result : results) {
    scope.spawn(replies.send(12, result));
    CHECK(jailed.read(loop) == Json{{"type", "reply"}, {"id", 12}, {"result", result}});
  }
  scope.spawn(replies.send(13, fail(Code::denied, "no")));
  CHECK(jailed.read(loop).contains("error"));
  REQUIRE(report.size() == results.size());
  for (size_t i = 0; i < report.size(); i++) CHECK(report[i] == results[i].dump());
}

TEST_CASE("a result of more values than are counted at once has no more room than others", "[jail]") {
  Loop loop;
  SlowJail jailed(loop);
  Replies::Room room{.bytes = 500 << 10};
  Work json(loop);
  Replies replies(jailed.daemon, room, json, {"a"});
  Scope scope(loop);
  scope.spawn(replies.send(1, Json(std::vector<Json>(300'000, Json::array()))));  // 900 kB
  const Json reply = jailed.read(loop);
  REQUIRE(reply.contains("error"));
  CHECK(reply["error"]["code"] == "exhausted");
  REQUIRE(run_until(loop, [&] { return !replies.sending(); }));
  CHECK(room.claimed == 0);
}

TEST_CASE("jails that do not read take a bounded room together, and small replies always go", "[jail]") {
  Loop loop;
  SlowJail slow(loop), other(loop);
  Replies::Room room{.bytes = 8 << 20};
  Work json(loop);
  Replies peers(other.daemon, room, json, {"a"});
  Scope scope(loop);
  {
    Replies replies(slow.daemon, room, json, {"b"});
    Scope sending(loop);
    for (int64_t id = 1; room.claimed + kLarge < room.bytes; id++) sending.spawn(replies.send(id, large()));
    CHECK(room.claimed <= room.bytes);
    scope.spawn(peers.send(1, large()));
    scope.spawn(peers.send(2, Json(std::string(Replies::Room::kSmall / 2, 'x'))));
    const Json refused = other.read(loop), small = other.read(loop);
    REQUIRE(refused.contains("error"));
    CHECK(refused["error"]["code"] == "exhausted");
    CHECK(refused["error"]["message"] == "answers of 7 MB wait for jails to read them");
    REQUIRE(small.contains("result"));
    CHECK(small["result"].is_string());
    CHECK(slow.read(loop)["result"].is_string());  // what was queued is not lost
  }
  REQUIRE(run_until(loop, [&] { return !peers.sending(); }));
  CHECK(room.claimed == 0);  // the slow one is gone
  scope.spawn(peers.send(3, large()));
  CHECK(other.read(loop)["result"].is_string());
}
