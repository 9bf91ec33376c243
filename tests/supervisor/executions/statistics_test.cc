// Statistics: what administrators see of the whole daemon, from records that the test writes.
#include "supervisor/executions/statistics.h"

#include "jail/execution/execution.h"
#include "jail/execution/outcome.h"
#include "tests/catch.h"

using executions::Counts;
using executions::ExecutionRecord;
using executions::ExecutionRegistry;
using executions::take_statistics;

namespace {

std::shared_ptr<ExecutionRecord> record(const std::string& id) {
  auto record = std::make_shared<ExecutionRecord>();
  record->id = id;
  record->tenant = {"ada"};
  return record;
}

enum class Cpu { half, unknown };

void end(ExecutionRegistry& registry, const std::string& language, jail::Outcome outcome, int64_t wall_us,
         Cpu cpu = Cpu::half) {
  ExecutionRegistry::Entry entry(registry, record(language + std::to_string(wall_us)));
  entry.start(language, {});
  jail::Report report;
  report.outcome = outcome;
  report.start = jail::Start::exec;
  journal::Ended ended;
  ended.outcome = jail::outcome_name(outcome);
  ended.wall_us = wall_us;
  ended.took_us = wall_us + 100;
  ended.cpu_us = cpu == Cpu::half ? wall_us / 2 : journal::kCpuUnknown;
  entry.end(report, ended);
}

}  // namespace

TEST_CASE("statistics of a daemon without executions are zero", "[statistics]") {
  Loop loop;
  const ExecutionRegistry registry(loop);
  const auto now = take_statistics(registry, nullptr);
  CHECK(now.executions == 0);
  CHECK(now.outcomes.empty());
  CHECK(now.pool.empty());
  CHECK(now.wall_usec.at("of") == 0);
  CHECK(now.wall_usec.size() == 1);  // without a measured execution there is no time
  for (const auto& [name, value] : now.ledger) CHECK(value == 0);
}

TEST_CASE("CPU time that is not known is counted as such, and not as zero", "[statistics]") {
  Loop loop;
  ExecutionRegistry registry(loop);
  end(registry, "python", jail::Outcome::ok, 1000);
  end(registry, "python", jail::Outcome::timeout, 3000, Cpu::unknown);
  const auto now = take_statistics(registry, nullptr);
  CHECK(now.cpu_usage_usec == 500);
  CHECK(now.cpu_unknown == 1);
}

TEST_CASE("statistics count executions by stage, outcome, start and language", "[statistics]") {
  Loop loop;
  ExecutionRegistry registry(loop);
  end(registry, "python", jail::Outcome::ok, 1000);
  end(registry, "python", jail::Outcome::timeout, 3000);
  end(registry, "shell", jail::Outcome::ok, 2000);
  ExecutionRegistry::Entry waiting(registry, record("waiting"));
  ExecutionRegistry::Entry starting(registry, record("starting"));
  starting.start("python", {});
  {
    ExecutionRegistry::Entry refused(registry, record("refused"));
    refused.refuse(Error{Code::exhausted, 0, "full", "", "admission.queued_executions"});
  }
  const auto now = take_statistics(registry, nullptr);
  CHECK(now.waiting == 1);
  CHECK(now.starting == 1);
  CHECK(now.running == 0);
  CHECK(now.executions == 3);
  CHECK(now.outcomes == Counts{{"ok", 2}, {"timeout", 1}});
  CHECK(now.refusals == Counts{{"admission.queued_executions", 1}});
  CHECK(now.starts == Counts{{"exec", 3}});
  CHECK(now.cpu_usage_usec == 3000);
  CHECK(now.cpu_unknown == 0);
  CHECK(now.wall_usec.at("of") == 3);
  CHECK(now.wall_usec.at("p50") == 2000);
  CHECK(now.wall_usec.at("max") == 3000);
  CHECK(now.answer_usec.at("max") == 3100);
  REQUIRE(now.languages.size() == 2);
  CHECK(now.languages.at("python").at("executions") == 2);
  CHECK(now.languages.at("python").at("wall_usec") == 4000);
  CHECK(now.languages.at("python").at("max") == 3000);
  CHECK(now.languages.at("shell").at("cpu_usec") == 1000);
}

TEST_CASE("two statistics are equal until something changes", "[statistics]") {
  Loop loop;
  ExecutionRegistry registry(loop);
  const auto before = take_statistics(registry, nullptr);
  CHECK(take_statistics(registry, nullptr) == before);
  ExecutionRegistry::Entry entry(registry, record("1"));
  CHECK_FALSE(take_statistics(registry, nullptr) == before);
}
