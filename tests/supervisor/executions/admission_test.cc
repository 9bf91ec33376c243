#include "supervisor/executions/admission.h"

#include <uv.h>

#include <map>
#include <optional>

#include "policies/policy.h"
#include "tests/catch.h"

using executions::Admission;

namespace {

struct AdmissionScene {
  Loop loop;
  Admission admission;
  policies::Policy policy;
  std::vector<std::string> order;                    // names, as they got their places
  std::map<std::string, Admission::Permit> permits;  // of those that run
  std::map<std::string, Error> refused;
  std::map<std::string, std::optional<Task<>>> tasks;  // last: cancelled first

  explicit AdmissionScene(uint32_t max_in_all) : admission(loop, max_in_all) {
    policy.concurrent_executions = 2;
    policy.queued_executions = 100;
    policy.requests_in_flight = 100;
  }
  Task<> enters(Admission::Asker asker, std::string name) {
    auto permit = co_await admission.enter(std::move(asker), policy, name);
    if (!permit) {
      refused.emplace(name, std::move(permit).error());
      co_return;
    }
    order.push_back(name);
    permits.emplace(name, *std::move(permit));
  }
  void ask(std::string tenant, char connection, const std::string& name) {
    Admission::Asker asker{std::move(tenant), connections + connection};
    auto& task = tasks[name];
    task.emplace(enters(std::move(asker), name));
    task->resume();
  }
  void end(const std::string& name) {
    permits.erase(name);
    settle();
  }
  void settle() {
    for (int turn = 0; turn < 5; turn++) uv_run(loop.uv(), UV_RUN_NOWAIT);
  }
  static inline char connections[128];
};

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("places go to one tenant's calls in the order in which they came", "[admission]") {
  AdmissionScene scene(100);
  for (const char* name : {"1", "2", "3", "4", "5"}) scene.ask("ada", 'a', name);
  CHECK(scene.order == Names{"1", "2"});
  CHECK(scene.admission.waiting() == 3);
  scene.end("2");
  scene.end("1");
  scene.end("3");
  CHECK(scene.order == Names{"1", "2", "3", "4", "5"});
  CHECK(scene.admission.running_of("ada") == 2);
  scene.end("4");
  scene.end("5");
  CHECK(scene.admission.running() == 0);
}

TEST_CASE("many calls of one connection do not hold up those of another", "[admission]") {
  AdmissionScene scene(100);
  for (const char* name : {"a1", "a2", "a3", "a4", "a5"}) scene.ask("ada", 'a', name);
  scene.ask("ada", 'b', "b1");
  scene.ask("ada", 'b', "b2");
  for (const char* name : {"a1", "a2", "a3", "b1"}) scene.end(name);
  CHECK(scene.order == Names{"a1", "a2", "a3", "b1", "a4", "b2"});
}

TEST_CASE("many calls of one tenant do not hold up those of another", "[admission]") {
  AdmissionScene scene(2);
  for (const char* name : {"a1", "a2", "a3", "a4"}) scene.ask("ada", 'a', name);
  scene.ask("eve", 'e', "e1");
  scene.ask("eve", 'e', "e2");
  for (const char* name : {"a1", "a2", "a3", "e1"}) scene.end(name);
  CHECK(scene.order == Names{"a1", "a2", "a3", "e1", "a4", "e2"});
}

TEST_CASE("a tenant at its limit, and a connection at its own, hold up nobody else", "[admission]") {
  AdmissionScene scene(100);
  scene.policy.requests_in_flight = 1;
  for (const char* name : {"a1", "a2", "a3"}) scene.ask("ada", 'a', name);
  scene.ask("ada", 'b', "b1");
  scene.ask("ada", 'c', "c1");
  scene.ask("eve", 'e', "e1");
  CHECK(scene.order == Names{"a1", "b1", "e1"});
  scene.end("b1");
  CHECK(scene.order == Names{"a1", "b1", "e1", "c1"});
  scene.end("a1");
  CHECK(scene.order.back() == "a2");
}

TEST_CASE("a full queue refuses with the numbers, and keeps a quarter for other connections", "[admission]") {
  AdmissionScene scene(100);
  scene.policy.queued_executions = 4;
  for (const char* name : {"1", "2", "3", "4", "5", "6"}) scene.ask("ada", 'a', name);
  REQUIRE(scene.refused.count("6") == 1);
  CHECK(scene.refused.at("6").code == Code::exhausted);
  CHECK(scene.refused.at("6").rule == "admission.queued_executions");
  CHECK(scene.refused.at("6").what ==
        "tenant 'ada' runs 2 executions and 3 more wait, 3 of this connection; this call did not run");
  scene.ask("ada", 'b', "7");
  scene.ask("ada", 'b', "8");
  CHECK(scene.refused.count("7") == 0);
  CHECK(scene.refused.count("8") == 1);
}

TEST_CASE("a call that is cancelled while it waits leaves the queue at once", "[admission]") {
  AdmissionScene scene(100);
  for (const char* name : {"1", "2", "3", "4"}) scene.ask("ada", 'a', name);
  scene.tasks.erase("3");
  CHECK(scene.admission.waiting() == 1);
  scene.end("1");
  CHECK(scene.order == Names{"1", "2", "4"});
  scene.admission.withdraw("nobody");
  scene.ask("ada", 'a', "5");
  scene.admission.withdraw("5");
  scene.settle();
  CHECK(scene.refused.at("5").code == Code::denied);
  CHECK(scene.refused.at("5").what.find("did not run") != std::string::npos);
  CHECK(scene.admission.waiting() == 0);
}

TEST_CASE("when admission closes, who waits is refused and who runs goes on", "[admission]") {
  AdmissionScene scene(100);
  for (const char* name : {"1", "2", "3", "4"}) scene.ask("ada", 'a', name);
  scene.admission.close(Error{Code::unavailable, 0, "ending", {}, {}});
  scene.settle();
  scene.ask("ada", 'a', "5");
  CHECK(scene.refused.size() == 3);
  CHECK(scene.refused.at("3").what == "ending");
  CHECK(scene.admission.running() == 2);
  scene.end("1");
  CHECK(scene.order == Names{"1", "2"});
}

TEST_CASE("a call that is refused and cancelled in one turn of the loop is gone, and holds up no call", "[admission]") {
  AdmissionScene scene(100);
  for (const char* name : {"1", "2", "3", "4"}) scene.ask("ada", 'a', name);
  scene.admission.withdraw("3");
  CHECK(scene.admission.waiting() == 1);
  CHECK(scene.refused.empty());
  scene.tasks.erase("3");
  scene.settle();
  CHECK(scene.refused.empty());
  scene.end("1");
  CHECK(scene.order == Names{"1", "2", "4"});
}

TEST_CASE("a place that its call gives back at once goes to the next call", "[admission]") {
  AdmissionScene scene(1);
  scene.ask("ada", 'a', "1");
  struct Calls {
    static Task<> pass(AdmissionScene& on, int& passed) {
      Admission::Asker asker{"ada", nullptr};
      const auto permit = co_await on.admission.enter(std::move(asker), on.policy);
      if (permit) passed++;
    }
  };
  int passed = 0;
  std::vector<Task<>> calls;
  for (int i = 0; i < 10; i++) calls.push_back(Calls::pass(scene, passed));
  for (auto& call : calls) call.resume();
  CHECK(scene.admission.waiting() == 10);
  scene.permits.erase("1");
  for (int turn = 0; turn < 5; turn++) scene.settle();
  CHECK(passed == 10);
  CHECK(scene.admission.running() == 0);
  CHECK(scene.admission.running_of("ada") == 0);
}

TEST_CASE("a tenant with lower limits waits, and calls behind it of other tenants do not", "[admission]") {
  AdmissionScene scene(3);
  for (const char* name : {"a1", "a2"}) scene.ask("ada", 'a', name);
  scene.policy.concurrent_executions = 1;
  scene.ask("ada", 'a', "a3");
  scene.policy.concurrent_executions = 2;
  scene.ask("eve", 'e', "e1");
  CHECK(scene.order == Names{"a1", "a2", "e1"});
  scene.end("a1");
  CHECK(scene.order.back() == "e1");
  scene.end("a2");
  CHECK(scene.order.back() == "a3");
}

TEST_CASE("a place that is given back just before the queue ends is nobody's", "[admission]") {
  Loop loop;
  policies::Policy policy;
  policy.concurrent_executions = policy.requests_in_flight = 1;
  auto admission = std::make_unique<Admission>(loop, 1);
  std::optional<Admission::Permit> permit;
  const auto enters = [](Admission& queue, const policies::Policy& limits, auto& into) -> Task<> {
    Admission::Asker asker{"ada", nullptr};
    auto entered = co_await queue.enter(std::move(asker), limits);
    if (entered) into.emplace(*std::move(entered));
  };
  Task<> task = enters(*admission, policy, permit);
  task.resume();
  REQUIRE(permit);
  permit.reset();
  admission.reset();
  for (int turn = 0; turn < 3; turn++) uv_run(loop.uv(), UV_RUN_NOWAIT);
}
