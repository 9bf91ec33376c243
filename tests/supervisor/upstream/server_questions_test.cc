#include "supervisor/upstream/server_questions.h"

#include <uv.h>

#include "tests/catch.h"
#include "tests/fresh_meter.h"
#include "tests/jail/await.h"

using upstream::Asking;
using upstream::Question;
using upstream::Reply;
using upstream::RequestClock;
using upstream::ServerQuestions;

namespace {

const Json kParams = {{"message", "?"}, {"requestedSchema", {{"type", "object"}, {"properties", Json::object()}}}};

// A connection with calls on it, and persons who answer when they are told to.
struct Scene {
  Loop loop;
  std::vector<Json> sent;
  size_t alive = 0;  // questions that somebody is looking at
  std::vector<std::string> shown_to;
  std::vector<std::shared_ptr<Event>> decisions;
  RequestClock clock{loop, RequestClock::kForever, [] {}};
  Work work{loop};
  ServerQuestions questions{loop, work, {"server"}, [this](const Json& message) { sent.push_back(message); }};

  Task<Reply> think(std::string owner_id) {
    struct Alive {
      size_t& count;
      explicit Alive(size_t& of) : count(of) { count++; }
      ~Alive() { count--; }
    } one(alive);
    shown_to.push_back(owner_id);
    auto decided = std::make_shared<Event>();
    decisions.push_back(decided);
    co_await *decided;
    Reply reply;
    reply.action = Reply::Action::accept;
    co_return reply;
  }
  Asking asking(std::string owner_id) {
    Asking asking;
    asking.owner_name = owner_id;
    asking.ask = [this, owner_id](Question) { return think(owner_id); };
    return asking;
  }
  void open(int64_t call, const std::string& owner_id) { questions.open(call, asking(owner_id), clock); }
  // A job of the server reads the question. Jobs of one owner run in order.
  void ask(Json id, Json params, std::optional<int64_t> of) {
    questions.ask(id, std::move(params), of);
    bool is_read = false;
    auto wait = [](Work& by, bool& done) -> Task<> {
      std::function<Result<int>()> job = []() -> Result<int> { return 0; };
      Work::Owner owner{"server"};
      (void)co_await by.run(std::move(owner), 0, std::move(job));
      done = true;
    };
    loop.spawn(wait(work, is_read));
    loop.run_until([&is_read] { return is_read; });
  }
  void decide(size_t number) {
    decisions.at(number)->fire();
    for (int turn = 0; turn < 3; turn++) uv_run(loop.uv(), UV_RUN_NOWAIT);
  }
  std::string last_action() const {
    return sent.empty() ? "" : sent.back().at("result").at("action").get<std::string>();
  }
};

}  // namespace

TEST_CASE("the question of the one call that is open is put to whoever called", "[questions]") {
  Scene scene;
  scene.open(3, "ada");
  scene.ask("q", kParams, {});
  CHECK(scene.shown_to == std::vector<std::string>{"ada"});
  CHECK(scene.sent.empty());
  scene.decide(0);
  REQUIRE(scene.sent.size() == 1);
  CHECK(scene.sent[0] == Json::parse(R"({"jsonrpc":"2.0","id":"q","result":{"action":"accept","content":{}}})"));
  CHECK(scene.alive == 0);
  CHECK(scene.questions.waiting() == 0);
}

TEST_CASE("without a call, or with several, nobody is asked unless it is said whose the question is", "[questions]") {
  Scene scene;
  scene.ask(1, kParams, {});
  CHECK(scene.last_action() == "cancel");
  scene.open(1, "ada");
  scene.open(2, "bob");
  scene.ask(2, kParams, {});
  CHECK(scene.sent.size() == 2);
  CHECK(scene.last_action() == "cancel");
  scene.ask(3, kParams, 7);  // no call of ours
  CHECK(scene.sent.size() == 3);
  CHECK(scene.shown_to.empty());
  scene.ask(4, kParams, 2);
  CHECK(scene.shown_to == std::vector<std::string>{"bob"});
}

TEST_CASE("while another person's call may still go on there, nobody is asked", "[questions]") {
  Scene scene;
  scene.open(1, "ada");
  scene.questions.close(1, false);
  scene.open(2, "bob");
  scene.ask(1, kParams, {});
  CHECK(scene.last_action() == "cancel");
  scene.questions.received(1);
  scene.ask(2, kParams, {});
  CHECK(scene.shown_to == std::vector<std::string>{"bob"});
  scene.questions.close(2, false);
  scene.open(3, "bob");
  scene.ask(3, kParams, {});
  CHECK(scene.shown_to == std::vector<std::string>{"bob", "bob"});
}

TEST_CASE("too many calls that were given up are not counted, and nobody is asked any more", "[questions]") {
  Scene scene;
  for (size_t i = 0; i <= ServerQuestions::kMaxGivenUp; i++) {
    scene.open(static_cast<int64_t>(i), "ada");
    scene.questions.close(static_cast<int64_t>(i), false);
  }
  scene.open(1000, "ada");
  scene.ask(1, kParams, {});
  CHECK(scene.last_action() == "cancel");
}

TEST_CASE("a question goes with its call, or when the server takes it back, and then has no answer", "[questions]") {
  Scene scene;
  scene.open(1, "ada");
  scene.ask("a", kParams, {});
  scene.ask("b", kParams, {});
  CHECK(scene.alive == 2);
  scene.questions.take_back("a");
  scene.questions.take_back("never asked");
  CHECK(scene.alive == 1);
  scene.questions.close(1, true);
  CHECK(scene.alive == 0);
  CHECK(scene.sent.empty());
  scene.ask("c", kParams, {});
  CHECK(scene.last_action() == "cancel");
}

TEST_CASE("an id that is in use asks nothing, and one that was answered may be used again", "[questions]") {
  Scene scene;
  scene.open(1, "ada");
  scene.ask(1, kParams, {});
  scene.ask(1, kParams, {});
  scene.ask("1", kParams, {});  // another one
  CHECK(scene.alive == 2);
  scene.decide(0);
  scene.ask(1, kParams, {});
  CHECK(scene.alive == 2);
}

TEST_CASE("a call has so many questions, and what is none is refused", "[questions]") {
  Scene scene;
  scene.open(1, "ada");
  scene.ask(0, Json{{"message", 1}}, {});
  REQUIRE(scene.sent.size() == 1);
  CHECK(scene.sent[0]["error"]["code"] == -32602);
  for (size_t i = 1; i < ServerQuestions::kMaxOfCall; i++) scene.ask(i, kParams, {});
  CHECK(scene.alive == ServerQuestions::kMaxOfCall - 1);
  scene.ask(100, kParams, {});
  CHECK(scene.last_action() == "cancel");
}

TEST_CASE("whoever cannot be asked has cancelled", "[questions]") {
  Scene scene;
  scene.questions.open(1, Asking{}, scene.clock);
  scene.ask(1, kParams, {});
  CHECK(scene.last_action() == "cancel");
}

TEST_CASE("the clock of a request stands still while somebody is asked", "[questions]") {
  using namespace std::chrono_literals;
  Scene scene;
  bool late = false, other_late = false;
  RequestClock clock(scene.loop, 20ms, [&] { late = true; });
  scene.questions.open(1, scene.asking("ada"), clock);
  scene.ask(1, kParams, {});
  scene.ask(2, kParams, {});
  Deadline later(scene.loop, 60ms, [&] { other_late = true; });
  REQUIRE(run_until(scene.loop, [&] { return other_late; }));
  CHECK_FALSE(late);
  scene.decide(0);
  CHECK_FALSE(late);
  other_late = false;
  later = Deadline(scene.loop, 60ms, [&] { other_late = true; });
  REQUIRE(run_until(scene.loop, [&] { return other_late; }));
  CHECK_FALSE(late);  // one is still open
  scene.decide(1);
  CHECK(run_until(scene.loop, [&] { return late; }));
  scene.questions.close(1, true);
}
