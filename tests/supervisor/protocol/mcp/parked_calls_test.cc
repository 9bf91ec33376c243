// Calls that wait for their client, without any client.
#include "supervisor/protocol/mcp/parked_calls.h"

#include "tests/supervisor/protocol/mcp/harness.h"

using namespace mcp_test;
using namespace std::chrono_literals;

namespace {

// A host whose calls are to be parked, and calls whose answers the test makes.
struct ParkingLot : Fixture, mcp::CallHost {
  std::vector<std::string> notified;
  std::vector<mcp::Answer> finished;
  std::shared_ptr<mcp::Account> account = std::make_shared<mcp::Account>();
  std::shared_ptr<mcp::RequestCounts> counts = std::make_shared<mcp::RequestCounts>();
  const int first_owner = 0, second_owner = 0;  // only their addresses are used

  ParkingLot() { account->unread = std::make_shared<mcp::UnreadAccount>(server.unread()); }
  void notify(const mcp::RunningCall&, std::string line) override { notified.push_back(std::move(line)); }
  std::shared_ptr<mcp::Elicitation> ask(mcp::RunningCall&, mcp::ElicitationForm,
                                        std::function<void(mcp::Elicited)>) override {
    return nullptr;
  }
  void finish(mcp::RunningCall&, mcp::Answer answer) override { finished.push_back(std::move(answer)); }
  Result<> detach(mcp::RunningCall&, mcp::ToolResult) override { return {}; }
  Task<Result<>> become_task(mcp::RunningCall&) override { co_return Result<>(); }

  std::unique_ptr<mcp::RunningCall> produced() {
    auto call = std::make_unique<mcp::RunningCall>(loop, server, static_cast<mcp::CallHost&>(*this),
                                                   mcp::RequestId{"1"}, mcp::kNewestModern);
    call->share.emplace(counts, account, false, 1, 1000);
    call->unread.emplace(account->unread);
    call->embedded = std::make_shared<mcp::Elicitations>();
    return call;
  }
  static void answer(const mcp::RunningCall* call, size_t bytes) {
    auto& parked = const_cast<mcp::RunningCall&>(*call);
    parked.host->finish(parked, std::string(bytes, 'x'));
  }
};

}  // namespace

TEST_CASE("a parked call is found by its principal and its key only", "[mcp]") {
  ParkingLot f;
  mcp::ParkedCalls parked(f.loop);
  const std::string key = parked.add("uid-1", nullptr, f.produced()),
                    other = parked.add("uid-1", nullptr, f.produced());
  CHECK(key.size() == 32);
  CHECK(key != other);
  CHECK(parked.find("uid-1", key) != nullptr);
  CHECK(parked.find("uid-2", key) == nullptr);
  CHECK(parked.find("uid-1", key.substr(1)) == nullptr);
  CHECK(parked.find("uid-1", "") == nullptr);
  auto reserved = parked.take("uid-1", key);
  CHECK(reserved.call->parked_key.empty());
  CHECK_FALSE(reserved.answer);
  CHECK(parked.find("uid-1", key) == nullptr);
  CHECK(parked.count("uid-1") == 1);
}

TEST_CASE("the calls of an ended conversation wait for so long, and only they", "[mcp]") {
  ParkingLot f;
  mcp::ParkedCalls parked(f.loop);
  const std::string waits = parked.add("uid-1", &f.first_owner, f.produced());
  const std::string stays = parked.add("uid-1", &f.second_owner, f.produced());
  const std::string other = parked.add("uid-2", &f.first_owner, f.produced());
  parked.leave("uid-1", &f.first_owner, 20ms);
  CHECK(parked.find("uid-1", waits) != nullptr);
  wait_until(f.loop, [&] { return parked.count("uid-1") == 1; });
  CHECK(parked.find("uid-1", waits) == nullptr);
  CHECK(parked.find("uid-1", stays) != nullptr);
  CHECK(parked.find("uid-2", other) != nullptr);
  CHECK(f.counts->calls == 2);
  CHECK(f.server.calls() == 2);
}

TEST_CASE("each principal parks a limited number of calls", "[mcp]") {
  ParkingLot f;
  mcp::ParkedCalls parked(f.loop, {.calls = 2});
  const std::string key = parked.add("uid-1", nullptr, f.produced());
  CHECK(parked.has_room("uid-1"));
  parked.add("uid-1", &f.first_owner, f.produced());
  CHECK_FALSE(parked.has_room("uid-1"));
  CHECK(parked.has_room("uid-2"));
  parked.take("uid-1", key);
  CHECK(parked.has_room("uid-1"));
}

TEST_CASE("what a parked call makes is kept, and nothing is sent for it", "[mcp]") {
  ParkingLot f;
  mcp::ParkedCalls parked(f.loop);
  const std::string key = parked.add("uid-1", nullptr, f.produced());
  const mcp::RunningCall* call = parked.find("uid-1", key);
  call->context.notify("lost");
  ParkingLot::answer(call, 5000);
  CHECK(f.notified.empty());
  CHECK(f.finished.empty());
  CHECK(f.account->unread->bytes() == 5000);
  CHECK(f.server.calls() == 0);
  auto reserved = parked.take("uid-1", key);
  REQUIRE(reserved.answer);
  CHECK((*reserved.answer)->size() == 5000);
  reserved.call.reset();
  CHECK(f.account->unread->bytes() == 0);
}

TEST_CASE("answers are kept up to a limit, for each principal and each owner", "[mcp]") {
  ParkingLot f;
  mcp::ParkedCalls parked(f.loop, {.answer_bytes = 1000, .conversation_answer_bytes = 400});
  auto keeps = [&](const std::string& principal, const void* owner, size_t bytes) {
    const std::string key = parked.add(principal, owner, f.produced());
    const mcp::RunningCall* call = parked.find(principal, key);
    ParkingLot::answer(call, bytes);
    auto answer = std::move(parked.take(principal, key).answer);
    parked.add(principal, owner, f.produced());
    return answer && answer->has_value();
  };
  auto leaves = [&](const std::string& principal, const void* owner, size_t bytes) {
    ParkingLot::answer(parked.find(principal, parked.add(principal, owner, f.produced())), bytes);
  };
  leaves("uid-1", &f.first_owner, 300);
  CHECK(keeps("uid-1", &f.first_owner, 100));
  CHECK_FALSE(keeps("uid-1", &f.first_owner, 101));
  CHECK(keeps("uid-1", &f.second_owner, 400));
  leaves("uid-1", nullptr, 600);
  CHECK(keeps("uid-1", nullptr, 100));
  CHECK_FALSE(keeps("uid-1", nullptr, 101));
  CHECK_FALSE(keeps("uid-1", &f.second_owner, 101));
  CHECK(keeps("uid-2", nullptr, 1000));
}

TEST_CASE("a kept answer is dropped when nobody comes for it", "[mcp]") {
  ParkingLot f;
  mcp::ParkedCalls parked(f.loop, {.patience = 20ms});
  const std::string waits = parked.add("uid-1", &f.first_owner, f.produced());
  const std::string answered = parked.add("uid-1", &f.first_owner, f.produced());
  ParkingLot::answer(parked.find("uid-1", answered), 10);
  parked.leave("uid-1", &f.first_owner, 60s);  // has no effect on the kept answer
  wait_until(f.loop, [&] { return parked.count("uid-1") == 1; });
  CHECK(parked.find("uid-1", waits) != nullptr);
  CHECK(f.counts->calls == 1);
}

TEST_CASE("a question of a parked call waits for the client, and is taken back with it", "[mcp]") {
  ParkingLot f;
  mcp::ParkedCalls parked(f.loop);
  auto call = f.produced();
  call->context.client = std::make_shared<mcp::ClientInfo>(mcp::ClientInfo{{{"elicitation", Json::object()}}, {}});
  CHECK(call->context.elicit({"now?"}, [](mcp::Elicited) {}) == nullptr);  // this host asks nobody
  mcp::RunningCall& same = *call;
  const std::string key = parked.add("uid-1", nullptr, std::move(call));
  auto question = same.context.elicit({"go on?"}, [](mcp::Elicited) {});
  REQUIRE(question);
  REQUIRE(same.questions.size() == 1);
  CHECK(same.embedded->find(same.questions[0].key) == question);
  const auto open = same.embedded;
  question.reset();
  CHECK(open->find(same.questions[0].key) == nullptr);
}
