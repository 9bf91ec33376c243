// ExecutionRegistry: what observers see of an execution from its beginning to its end, and the sums.
#include "supervisor/executions/execution_registry.h"

#include "jail/execution/execution.h"
#include "jail/execution/outcome.h"
#include "jail/spec.h"
#include "tests/catch.h"

using executions::ExecutionRecord;
using executions::ExecutionRecordPtr;
using executions::ExecutionRegistry;
using executions::Stage;

namespace {

struct Registered {
  Loop loop;
  ExecutionRegistry registry{loop};
  std::vector<std::string> seen;  // "e1 began"
  std::string limit;              // the last one that was reached
  ExecutionRegistry::Observers::Place observes;

  Registered() {
    auto changed = [this](const ExecutionRecordPtr& execution, ExecutionRegistry::RegistryEvent subject) {
      constexpr const char* kWords[] = {" began", " changed", " ended", " forgotten"};
      seen.push_back(execution->id + kWords[static_cast<size_t>(subject)]);
    };
    auto limit_reached = [this](const ExecutionRecord&, const std::string& rule) { limit = rule; };
    observes = registry.observe({.changed = changed, .limit_reached = limit_reached});
  }
  static ExecutionRecordPtr record(const std::string& id, const std::string& tenant = "acme") {
    auto record = std::make_shared<ExecutionRecord>();
    record->id = id;
    record->tenant.account = tenant;
    return record;
  }
  static jail::Report report(jail::Outcome outcome) {
    jail::Report report;
    report.outcome = outcome;
    report.start = jail::Start::fork;
    return report;
  }
  static journal::Ended ended(const std::string& outcome, int64_t wall_us) {
    journal::Ended ended;
    ended.outcome = outcome;
    ended.wall_us = wall_us;
    ended.took_us = 2 * wall_us;
    return ended;
  }
};

}  // namespace

TEST_CASE("an execution is seen from its beginning to its end, and counts in all sums", "[registry]") {
  Registered s;
  {
    ExecutionRegistry::Entry entry(s.registry, Registered::record("e1"));
    CHECK(s.registry.count(Stage::waiting) == 1);
    entry.start("python", {});
    CHECK(s.registry.count("acme", Stage::starting) == 1);
    CHECK(s.registry.count("other", Stage::starting) == 0);
    entry.end(Registered::report(jail::Outcome::ok), Registered::ended("ok", 1500));
  }
  CHECK(s.seen == std::vector<std::string>{"e1 began", "e1 changed", "e1 ended"});
  CHECK(s.registry.count(Stage::starting) == 0);
  const auto& sums = s.registry.sums();
  CHECK(sums.totals.executions == 1);
  CHECK(sums.starts.at("fork") == 1);
  CHECK(sums.wall_times.quantiles().p50_us == 1500);
  CHECK(sums.answer_times.all().sum_us == 3000);
  CHECK(s.registry.languages().at("python").totals.executions == 1);
  CHECK(s.registry.totals_of("acme").outcomes.at("ok") == 1);
  CHECK(s.registry.totals_of("other").executions == 0);
  REQUIRE(s.registry.find("e1"));
  CHECK(s.registry.find("e1")->outcome == "ok");
}

TEST_CASE("a refused call counts under its rule, and says in public no more than the rule", "[registry]") {
  Registered s;
  ExecutionRegistry::Entry entry(s.registry, Registered::record("e1"));
  entry.refuse(Error{Code::exhausted, 0, "tenant 'acme' has 3 secret things", "wait", "executions"});
  CHECK(s.registry.sums().refused.at("executions") == 1);
  CHECK(s.registry.find("e1")->outcome == "denied");
  CHECK(s.registry.find("e1")->message == "refused by executions");
  CHECK(s.limit == "executions");
  CHECK(s.registry.sums().totals.executions == 0);
}

TEST_CASE("an entry that goes without an end is a cancelled execution", "[registry]") {
  Registered s;
  { ExecutionRegistry::Entry waiting(s.registry, Registered::record("e1")); }
  CHECK(s.registry.find("e1")->outcome == "cancelled");
  CHECK(s.registry.sums().totals.executions == 0);  // it never had a place
  {
    ExecutionRegistry::Entry started(s.registry, Registered::record("e2"));
    started.start("shell", {});
  }
  CHECK(s.registry.sums().totals.outcomes.at("cancelled") == 1);
}

TEST_CASE("cancel withdraws an execution that waits, and is an error for one that has ended", "[registry]") {
  Registered s;
  auto record = Registered::record("e1");
  bool withdrawn = false;
  {
    ExecutionRegistry::Entry entry(s.registry, record);
    record->withdraw = [&] { withdrawn = true; };
    CHECK(s.registry.cancel(*record));
    CHECK(withdrawn);
  }
  const auto retry = s.registry.cancel(*record);
  REQUIRE_FALSE(retry);
  CHECK(retry.error().code == Code::unavailable);
}

TEST_CASE("living executions come first, the oldest of them first, and ended ones are forgotten beyond 100",
          "[registry]") {
  Registered s;
  for (int i = 0; i < 105; i++) {
    ExecutionRegistry::Entry entry(s.registry, Registered::record("old" + std::to_string(i)));
    entry.pass("ok");
  }
  auto late = Registered::record("late"), early = Registered::record("early");
  late->requested_ms = 2000;
  early->requested_ms = 1000;
  ExecutionRegistry::Entry first(s.registry, late), second(s.registry, early);
  const auto all = s.registry.all();
  REQUIRE(all.size() == 102);
  CHECK(all[0]->id == "early");
  CHECK(all[1]->id == "late");
  CHECK(all[2]->id == "old5");
  CHECK_FALSE(s.registry.find("old4"));
}
