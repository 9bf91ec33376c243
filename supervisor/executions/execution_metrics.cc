#include "supervisor/executions/execution_metrics.h"

#include <string_view>
#include <utility>

#include "supervisor/executions/statistics.h"
#include "supervisor/operations/metrics/text.h"

namespace executions {
namespace {

using metrics::OpenMetricsText;

void add_executions(OpenMetricsText& text, const ExecutionRegistry& executions, const Statistics& now) {
  text.family("warder_executions", "counter", "", "Executions that ended, by language and outcome.");
  for (const auto& [language, of] : executions.languages())
    for (const auto& [outcome, count] : of.totals.outcomes)
      text.sample("_total", {{"language", language}, {"outcome", outcome}}, count);
  text.family("warder_executions_now", "gauge", "", "Executions that wait for a place or a jail, run, or are frozen.");
  const std::pair<std::string_view, uint64_t> states[] = {
      {"waiting", now.waiting}, {"starting", now.starting}, {"running", now.running}, {"frozen", now.frozen}};
  for (const auto& [state, count] : states) text.sample("", {{"state", state}}, count);
  text.family("warder_refusals", "counter", "", "Calls that received no jail, by the rule that refused them.");
  for (const auto& [rule, count] : now.refusals) text.sample("_total", {{"rule", rule}}, count);
  text.family(
      "warder_starts", "counter", "",
      "Executions by the source of their jail: cold (built after the request), exec (waited), fork (of a zygote).");
  for (const auto& [kind, count] : now.starts) text.sample("_total", {{"kind", kind}}, count);
}

void add_times(OpenMetricsText& text, const ExecutionRegistry& executions, std::string_view name, std::string_view help,
               const RecentTimes Sums::*times) {
  text.family(name, "histogram", "seconds", help);
  for (const auto& [language, of] : executions.languages()) {
    const auto& all = (of.*times).all();
    text.histogram({{"language", language}}, all.kBounds, all.counts, all.sum_us);
  }
}

void add_usage(OpenMetricsText& text, const ExecutionRegistry& executions, const Statistics& now) {
  text.family("warder_cpu_seconds", "counter", "seconds", "CPU time of executions that ended.");
  for (const auto& [language, of] : executions.languages())
    text.seconds("_total", {{"language", language}}, of.totals.cpu_us);
  text.family("warder_memory_bytes", "gauge", "bytes", "Memory of executions and waiting jails now.");
  text.sample("", {}, now.memory_bytes);
  text.family("warder_pool_jails", "gauge", "", "Waiting jails, the wanted number, and zygotes.");
  for (const auto& [language, of] : now.pool)
    for (const char* state : {"waiting", "wanted", "zygotes"})
      text.sample("", {{"language", language}, {"state", state}}, of.at(state));
  text.family("warder_context_bytes", "counter", "bytes",
              "Data that went into the agents' contexts, and data that stayed out.");
  for (const char* kind : {"returned", "printed", "fetched", "kept_out", "definitions_avoided"})
    text.sample("_total", {{"kind", kind}}, now.ledger.at(std::string(kind) + "_bytes"));
}

}  // namespace

void write_execution_metrics(OpenMetricsText& text, const ExecutionRegistry& executions, const jail::Pool* pool) {
  const Statistics now = take_statistics(executions, pool);
  add_executions(text, executions, now);
  add_times(text, executions, "warder_answer_seconds", "Time from a call of execute_code to its answer.",
            &Sums::answer_times);
  add_times(text, executions, "warder_program_seconds", "Wall time of programs.", &Sums::wall_times);
  add_usage(text, executions, now);
}

}  // namespace executions
