#include "supervisor/executions/statistics.h"

namespace executions {
namespace {

uint64_t counted(int64_t us) { return us < 0 ? 0 : static_cast<uint64_t>(us); }

// Without a measured execution there are no times: their names are absent.
Counts counts_json(const Quantiles& times) {
  if (times.count == 0) return {{"of", 0}};
  return {{"max", counted(times.max_us)},
          {"of", times.count},
          {"p50", counted(times.p50_us)},
          {"p90", counted(times.p90_us)},
          {"p99", counted(times.p99_us)}};
}

Counts counts_json(const journal::Totals& totals) {
  const journal::Ledger& ledger = totals.ledger;
  return {{"definitions_avoided_bytes", ledger.definitions_avoided_bytes},
          {"definitions_avoided_tokens_estimated", ledger.definitions_avoided_tokens},
          {"fetched_bytes", ledger.fetched_bytes},
          {"kept_out_bytes", totals.withheld_bytes},
          {"kept_out_tokens_estimated", totals.withheld_tokens},
          {"printed_bytes", ledger.printed_bytes},
          {"returned_bytes", ledger.returned_bytes},
          {"returned_tokens_estimated", ledger.returned_tokens}};
}

}  // namespace

Statistics take_statistics(const ExecutionRegistry& executions, const jail::Pool* pool) {
  Statistics now;
  now.waiting = executions.count(Stage::waiting);
  now.starting = executions.count(Stage::starting);
  now.running = executions.count(Stage::running);
  now.frozen = executions.count(Stage::frozen);
  const Sums& sums = executions.sums();
  now.executions = sums.totals.executions;
  now.outcomes = sums.totals.outcomes;
  now.refusals = sums.refused;
  now.starts = sums.starts;
  now.answer_usec = counts_json(sums.answer_times.quantiles());
  now.wall_usec = counts_json(sums.wall_times.quantiles());
  now.cpu_usage_usec = sums.totals.cpu_us;
  now.cpu_unknown = sums.totals.cpu_unknown;
  now.ledger = counts_json(sums.totals);
  for (const auto& [name, of] : executions.languages()) {
    now.languages[name] = counts_json(of.wall_times.quantiles());
    now.languages[name].merge(
        Counts{{"executions", of.totals.executions}, {"cpu_usec", of.totals.cpu_us}, {"wall_usec", of.totals.wall_us}});
  }
  executions.each_living([&now](const ExecutionRecord& execution) {
    const jail::LiveUsage usage = execution.now();
    now.cpu_usage_usec += static_cast<uint64_t>(usage.cpu_ms.value_or(0) * 1000);
    const bool runs = execution.stage == Stage::running || execution.stage == Stage::frozen;
    if (runs && !usage.cpu_ms) now.cpu_unknown++;
    now.memory_bytes += usage.memory_bytes;
  });
  if (!pool) return now;
  for (const auto& [language, stock] : pool->stock()) {
    now.waiting_jails += stock.jails;
    now.memory_bytes += stock.bytes;
    now.pool[std::string(jail::language_name(language))] = {
        {"bytes", stock.bytes}, {"waiting", stock.jails}, {"wanted", stock.wanted}, {"zygotes", stock.zygotes}};
  }
  return now;
}

}  // namespace executions
