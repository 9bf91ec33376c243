// Client: large answers are read beside the loop, what comes meanwhile is heard, and who has had its part of the loop
// waits.
#include "supervisor/upstream/client.h"

#include "supervisor/base/json/json.h"
#include "tests/catch.h"
#include "tests/jail/await.h"

namespace {

// A server that says what the test says.
class Scripted : public upstream::Transport {
 public:
  explicit Scripted(Listener& listener) : listener_(listener) {}
  void begin(Listener listener) override { listener_ = std::move(listener); }
  void send(const Json&, Arguments) override {}
  void cancel(int64_t) override {}
  void answered(int64_t) override {}
  void speak(const std::string&) override {}
  void close() override {}
  bool full() const override { return false; }
  uint64_t received() const override { return 0; }

 private:
  Listener& listener_;
};

// A server that answers each request by the next of these answers, and notes the methods.
class Answering : public upstream::Transport {
 public:
  Answering(Loop& loop, std::vector<Json> answers, std::vector<std::string>& methods)
      : answers_(std::move(answers)), methods_(methods), tasks_(loop) {}
  ~Answering() override { tasks_.cancel_all(); }
  void begin(Listener listener) override { listener_ = std::move(listener); }
  void send(const Json& message, Arguments) override {
    methods_.push_back(message["method"]);
    if (!message.contains("id")) return;
    Json answer =
        methods_.size() <= answers_.size() ? answers_[methods_.size() - 1] : Json{{"error", {{"code", -32601}}}};
    answer["jsonrpc"] = "2.0";
    answer["id"] = message["id"];
    tasks_.spawn(say(dump_json(answer)));
  }
  void cancel(int64_t) override {}
  void answered(int64_t) override {}
  void speak(const std::string&) override {}
  void close() override {}
  bool full() const override { return false; }
  uint64_t received() const override { return 0; }

 private:
  Task<> say(std::string text) {
    auto saved = std::make_shared<const std::string>(std::move(text));
    const upstream::MessageText message{*saved, {saved, saved->data()}};
    co_await listener_.message(message, std::nullopt);
  }

  std::vector<Json> answers_;
  std::vector<std::string>& methods_;
  Listener listener_;
  Scope tasks_;
};

// The methods that a client sends to such a server, to find its era.
std::vector<std::string> methods_to_open(std::vector<Json> answers) {
  Loop loop;
  Work json(loop);
  LoopShares shares(loop);
  std::vector<std::string> methods;
  upstream::Client client(loop, {json, {"a"}, shares.of("a")},
                          std::make_unique<Answering>(loop, std::move(answers), methods), {}, {});
  (void)await(loop, client.open(std::chrono::seconds(5), upstream::Client::Questions::none));
  return methods;
}

Json refused_version(std::vector<std::string> supported) {
  return {{"error", {{"code", -32022}, {"message", "no"}, {"data", {{"supported", supported}}}}}};
}

Task<> ask(upstream::Client& client, std::optional<Result<upstream::ServerAnswer>>& into) {
  upstream::Client::Request order;
  order.method = "tools/list";
  order.limit = std::chrono::minutes(5);
  auto answer = co_await client.request(std::move(order));
  into.emplace(std::move(answer));
}

Task<> say(upstream::Transport::Listener& listener, std::string subject) {
  auto saved = std::make_shared<const std::string>(std::move(subject));
  const upstream::MessageText text{*saved, {saved, saved->data()}};
  co_await listener.message(text, std::nullopt);
}

}  // namespace

TEST_CASE("what comes while a large answer is read is no flood", "[upstream]") {
  Loop loop;
  Work json(loop);
  LoopShares shares(loop);
  upstream::Transport::Listener listener;
  upstream::Client client(loop, {json, {"a"}, shares.of("a")}, std::make_unique<Scripted>(listener), {}, {});
  std::optional<Result<upstream::ServerAnswer>> answer;
  Scope scope(loop);
  scope.spawn(ask(client, answer));
  const std::string large(2 * upstream::Client::kMaxUnasked, 'x');
  scope.spawn(say(listener, R"({"jsonrpc":"2.0","id":1,"result":{"text":")" + large + R"("}})"));
  scope.spawn(say(listener, R"({"jsonrpc":"2.0","method":"notifications/message","params":{}})"));
  // With sanitizers, 16 MB take some ten seconds to read.
  REQUIRE(run_until(
      loop, [&] { return answer.has_value(); }, std::chrono::minutes(3)));
  REQUIRE(*answer);
  CHECK((*answer)->result["text"].get_ref<const std::string&>().size() == large.size());
  CHECK((*answer)->bytes > large.size());
  CHECK_FALSE(client.over());
}

TEST_CASE("what a server says is not read while its owner has had its part of the loop", "[upstream]") {
  static Monotonic::time_point time_now{std::chrono::hours(1)};
  Loop loop;
  Work json(loop);
  LoopShares shares(loop, [] { return time_now; });
  const auto use = [&shares](const char* owner, std::chrono::milliseconds time) {
    const auto share = shares.of(owner);
    const LoopShare::Use used(*share);
    time_now += time;
    return share;
  };
  upstream::Transport::Listener listener;
  upstream::Client client(loop, {json, {"a"}, shares.of("a")}, std::make_unique<Scripted>(listener), {}, {});
  std::optional<Result<upstream::ServerAnswer>> answer;
  Scope scope(loop);
  scope.spawn(ask(client, answer));
  const auto busy = use("a", std::chrono::milliseconds(25)), other = use("other", std::chrono::milliseconds(1));
  scope.spawn(say(listener, R"({"jsonrpc":"2.0","id":1,"result":{}})"));
  for (int i = 0; i < 3; i++) {
    const auto turn = loop.turn();
    loop.defer([] {});
    loop.run_until([&] { return loop.turn() > turn; });
  }
  CHECK_FALSE(answer);
  time_now += std::chrono::seconds(1);
  REQUIRE(run_until(loop, [&] { return answer.has_value(); }));
  CHECK(*answer);
}

TEST_CASE("a refused version is tried once more if the server lists it, else the handshake is", "[upstream]") {
  const Json discovered{{"result", {{"supportedVersions", {"2026-07-28"}}}}};
  const Json modern = refused_version({"2026-07-28"}), legacy = refused_version({"2025-11-25"});
  using Methods = std::vector<std::string>;
  CHECK(methods_to_open({modern, discovered}) == Methods{"server/discover", "server/discover"});
  CHECK(methods_to_open({modern, modern}) == Methods{"server/discover", "server/discover", "initialize"});
  CHECK(methods_to_open({legacy}) == Methods{"server/discover", "initialize"});
  CHECK(methods_to_open({{{"error", {{"code", -32022}}}}}) == Methods{"server/discover", "initialize"});
  CHECK(methods_to_open({discovered}) == Methods{"server/discover"});
}
