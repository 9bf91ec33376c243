// Client: large answers are read beside the loop, what comes meanwhile is heard, and who has had its part of the loop
// waits.
#include "supervisor/bridge/client.h"

#include "tests/catch.h"
#include "tests/jail/await.h"

namespace {

// A server that says what the test says.
class Scripted : public bridge::Transport {
 public:
  explicit Scripted(Listener& listener) : listener_(listener) {}
  void begin(Listener listener) override { listener_ = std::move(listener); }
  void send(const Json&, Arguments) override {}
  void cancel(int64_t) override {}
  void answered(int64_t) override {}
  void speak(const std::string&) override {}
  void close() override {}
  bool full() const override { return false; }
  uint64_t heard() const override { return 0; }

 private:
  Listener& listener_;
};

Task<> ask(bridge::Client& client, std::optional<Result<bridge::Answer>>& into) {
  bridge::Client::Order order;
  order.method = "tools/list";
  order.limit = std::chrono::minutes(5);
  auto answer = co_await client.request(std::move(order));
  into.emplace(std::move(answer));
}

Task<> say(bridge::Transport::Listener& listener, std::string what) {
  auto kept = std::make_shared<const std::string>(std::move(what));
  const bridge::Text text{*kept, kept};
  co_await listener.message(text, std::nullopt);
}

}  // namespace

TEST_CASE("what comes while a large answer is read is no flood", "[bridge]") {
  Loop loop;
  JsonWork json(loop);
  LoopShares shares(loop);
  bridge::Transport::Listener listener;
  bridge::Client client(loop, {json, {"a"}, shares.of("a")}, std::make_unique<Scripted>(listener), {}, {});
  std::optional<Result<bridge::Answer>> answer;
  Scope scope(loop);
  scope.spawn(ask(client, answer));
  const std::string large(2 * bridge::Client::kMaxUnasked, 'x');
  scope.spawn(say(listener, R"({"jsonrpc":"2.0","id":1,"result":{"text":")" + large + R"("}})"));
  scope.spawn(say(listener, R"({"jsonrpc":"2.0","method":"notifications/message","params":{}})"));
  REQUIRE(run_until(loop, [&] { return answer.has_value(); }));
  REQUIRE(*answer);
  CHECK((*answer)->result["text"].get_ref<const std::string&>().size() == large.size());
  CHECK((*answer)->bytes > large.size());
  CHECK_FALSE(client.over());
}

TEST_CASE("what a server says is not read while its owner has had its part of the loop", "[bridge]") {
  static Monotonic::time_point time_now{std::chrono::hours(1)};
  Loop loop;
  JsonWork json(loop);
  LoopShares shares(loop, [] { return time_now; });
  const auto use = [&shares](const char* owner, std::chrono::milliseconds time) {
    const auto share = shares.of(owner);
    const LoopShare::Use used(*share);
    time_now += time;
    return share;
  };
  bridge::Transport::Listener listener;
  bridge::Client client(loop, {json, {"a"}, shares.of("a")}, std::make_unique<Scripted>(listener), {}, {});
  std::optional<Result<bridge::Answer>> answer;
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
