// The daemon's metrics as text, line by line: a collector refuses the whole text for one wrong line.
#include "supervisor/executions/execution_metrics.h"

#include <map>
#include <set>
#include <sstream>
#include <vector>

#include "jail/execution/execution.h"
#include "jail/execution/outcome.h"
#include "supervisor/operations/metrics/daemon_numbers.h"
#include "supervisor/operations/metrics/text.h"
#include "tests/catch.h"

using executions::ExecutionRecord;
using executions::ExecutionRegistry;

namespace {

struct Exposed {
  std::vector<std::string> lines;
  std::map<std::string, std::string> types;    // by family
  std::map<std::string, std::string> samples;  // value by name with labels

  explicit Exposed(const std::string& text) {
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
      lines.push_back(line);
      const size_t space = line.rfind(' ');
      if (line.starts_with("# TYPE ")) {
        const bool is_new = types.emplace(line.substr(7, space - 7), line.substr(space + 1)).second;
        CHECK(is_new);
      } else if (!line.starts_with("#")) {
        const bool is_new = samples.emplace(line.substr(0, space), line.substr(space + 1)).second;
        CHECK(is_new);
      }
    }
  }
  std::string at(const std::string& name) const {
    const auto it = samples.find(name);
    return it == samples.end() ? "missing" : it->second;
  }
};

std::string exposition(const ExecutionRegistry& registry, const metrics::DaemonNumbers& daemon = {}) {
  metrics::OpenMetricsText text;
  metrics::write_daemon(text, daemon);
  executions::write_execution_metrics(text, registry, nullptr);
  return std::move(text).end();
}

void end(ExecutionRegistry& registry, const std::string& language, jail::Outcome outcome, int64_t wall_us) {
  auto record = std::make_shared<ExecutionRecord>();
  record->id = language + std::to_string(wall_us);
  record->tenant = {"ada"};
  ExecutionRegistry::Entry entry(registry, record);
  entry.start(language, {});
  jail::Report report;
  report.outcome = outcome;
  journal::Ended ended;
  ended.outcome = jail::outcome_name(outcome);
  ended.wall_us = ended.took_us = wall_us;
  ended.cpu_us = 1500;
  entry.end(report, ended);
}

}  // namespace

TEST_CASE("every sample belongs to the family before it, and the text ends with EOF", "[metrics]") {
  Loop loop;
  ExecutionRegistry registry(loop);
  end(registry, "python", jail::Outcome::ok, 1000);
  const std::string text = exposition(registry);
  CHECK(text.ends_with("\n# EOF\n"));
  const Exposed all(text);
  std::string family, unit;
  for (const std::string& line : all.lines) {
    INFO(line);
    if (line.starts_with("# TYPE ")) {
      family = line.substr(7, line.rfind(' ') - 7);
    } else if (line.starts_with("# UNIT ")) {
      CHECK(family.ends_with("_" + line.substr(line.rfind(' ') + 1)));
    } else if (line.starts_with("# HELP ")) {
      CHECK(line.ends_with("."));
    } else if (line != "# EOF") {
      CHECK(line.starts_with(family));
      const std::string type = all.types.at(family), rest = line.substr(family.size());
      const std::string suffix = rest.substr(0, rest.find_first_of("{ "));
      if (type == "counter") CHECK(suffix == "_total");
      if (type == "gauge") CHECK(suffix.empty());
      if (type == "info") CHECK(suffix == "_info");
      if (type == "histogram") CHECK((suffix == "_bucket" || suffix == "_count" || suffix == "_sum"));
    }
  }
}

TEST_CASE("executions are counted by language and outcome, with times in seconds", "[metrics]") {
  Loop loop;
  ExecutionRegistry registry(loop);
  end(registry, "python", jail::Outcome::ok, 1000);
  end(registry, "python", jail::Outcome::ok, 1'500'000);
  end(registry, "shell", jail::Outcome::timeout, 70'000'000);
  const Exposed all(exposition(registry));
  CHECK(all.at(R"(warder_executions_total{language="python",outcome="ok"})") == "2");
  CHECK(all.at(R"(warder_executions_total{language="shell",outcome="timeout"})") == "1");
  CHECK(all.at(R"(warder_program_seconds_bucket{language="python",le="0.001"})") == "1");
  CHECK(all.at(R"(warder_program_seconds_bucket{language="python",le="1.0"})") == "1");
  CHECK(all.at(R"(warder_program_seconds_bucket{language="python",le="2.0"})") == "2");
  CHECK(all.at(R"(warder_program_seconds_bucket{language="python",le="+Inf"})") == "2");
  CHECK(all.at(R"(warder_program_seconds_sum{language="python"})") == "1.501");
  CHECK(all.at(R"(warder_program_seconds_bucket{language="shell",le="60.0"})") == "0");
  CHECK(all.at(R"(warder_program_seconds_bucket{language="shell",le="+Inf"})") == "1");
  CHECK(all.at(R"(warder_cpu_seconds_total{language="python"})") == "0.003");
  CHECK(all.at(R"(warder_executions_now{state="running"})") == "0");
}

TEST_CASE("a label's value cannot end its line or its quotes", "[metrics]") {
  Loop loop;
  ExecutionRegistry registry(loop);
  auto record = std::make_shared<ExecutionRecord>();
  record->id = "e";
  {
    ExecutionRegistry::Entry entry(registry, record);
    entry.refuse(Error{Code::denied, 0, "no", "", "a\"b\\c\nd"});
  }
  const Exposed all(exposition(registry));
  CHECK(all.at(R"(warder_refusals_total{rule="a\"b\\c\nd"})") == "1");
}

TEST_CASE("the daemon's own numbers are in the text", "[metrics]") {
  Loop loop;
  const ExecutionRegistry registry(loop);
  metrics::DaemonNumbers daemon;
  daemon.configuration_ok = false;
  daemon.started = 1'700'000'000;
  daemon.longest_turn.busy = std::chrono::milliseconds(120);
  daemon.longest_turn.work = LoopWork::search;
  daemon.missing_listeners = 2;
  const Exposed all(exposition(registry, daemon));
  CHECK(all.at("warder_start_time_seconds") == "1700000000");
  CHECK(all.at("warder_missing_listeners") == "2");
  CHECK(all.at("warder_configuration_ok") == "0");
  CHECK(all.at(R"(warder_loop_busy_seconds_max{work="search"})") == "0.12");
}
