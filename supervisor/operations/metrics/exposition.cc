#include "supervisor/operations/metrics/exposition.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "supervisor/base/disk_faults.h"
#include "supervisor/base/durable.h"
#include "supervisor/base/version.h"
#include "supervisor/executions/statistics.h"
#include "supervisor/operations/metrics/text.h"

namespace metrics {
namespace {

void add_daemon(OpenMetricsText& text, const DaemonNumbers& daemon) {
  text.family("warder_build", "info", "", "The daemon's version.");
  text.sample("_info", {{"version", kWarderVersion}}, 1);
  text.family("warder_start_time_seconds", "gauge", "seconds", "When the daemon started, since 1970.");
  text.sample("", {}, static_cast<uint64_t>(daemon.started));
  text.family("warder_unread_bytes", "gauge", "bytes", "Answers that clients have not read.");
  text.sample("", {}, daemon.unread_bytes);
  text.family("warder_disk_waits", "counter", "", "Waits until a write is on the disk; one on the loop is a bug.");
  text.sample("_total", {{"thread", "loop"}}, durable::calls_on_loop());
  text.sample("_total", {{"thread", "other"}}, durable::calls() - durable::calls_on_loop());
  text.family("warder_disk_faults", "counter", "",
              "Writes that failed because the disk was full, over a quota, broken or read-only.");
  text.sample("_total", {}, disk_faults::noted().count);
  text.family("warder_state_disk_failing", "gauge", "", "1 while the state folder's disk takes no writes.");
  text.sample("", {}, daemon.state_disk_failing ? 1 : 0);
  text.family("warder_clock_jump_seconds", "gauge", "seconds",
              "By how much the wall clock is ahead of, or behind, the time that has passed; 0 below a day.");
  text.sample("", {{"direction", "ahead"}}, static_cast<uint64_t>(std::max<int64_t>(daemon.clock_jump_s, 0)));
  text.sample("", {{"direction", "behind"}}, static_cast<uint64_t>(std::max<int64_t>(-daemon.clock_jump_s, 0)));
  text.family(
      "warder_configuration_ok", "gauge", "",
      "1 if the configuration's files are in force; 0 if they had a mistake at the start or at the last reload.");
  text.sample("", {}, daemon.configuration_ok ? 1 : 0);
  text.family(
      "warder_missing_listeners", "gauge", "",
      "Listeners that the configuration names and that the daemon does without: an address is in use, or a folder "
      "cannot be written.");
  text.sample("", {}, daemon.missing_listeners);
}

void add_loop(OpenMetricsText& text, const BusyTime::Turn& longest) {
  text.family(
      "warder_loop_busy_seconds_max", "gauge", "",
      fmt::format(
          "The longest time of the last {} minutes in which no client was answered because the loop was busy, and "
          "the work that took most of this time.",
          BusyTime::kRemembered.count()));
  const auto usec = std::chrono::duration_cast<std::chrono::microseconds>(longest.busy).count();
  text.seconds("", {{"work", work_name(longest.work)}}, static_cast<uint64_t>(usec));
}

void add_executions(OpenMetricsText& text, const executions::ExecutionRegistry& executions,
                    const executions::Statistics& now) {
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

void add_times(OpenMetricsText& text, const executions::ExecutionRegistry& executions, std::string_view name,
               std::string_view help, const executions::RecentTimes executions::Sums::*times) {
  text.family(name, "histogram", "seconds", help);
  for (const auto& [language, of] : executions.languages()) {
    const executions::Histogram& all = (of.*times).all();
    uint64_t so_far = 0;
    for (size_t i = 0; i < all.counts.size(); i++) {
      so_far += all.counts[i];
      const std::string bound = i < all.kBounds.size() ? seconds_text(static_cast<uint64_t>(all.kBounds[i])) : "+Inf";
      text.sample("_bucket", {{"language", language}, {"le", bound}}, so_far);
    }
    text.sample("_count", {{"language", language}}, so_far);
    text.seconds("_sum", {{"language", language}}, all.sum_us);
  }
}

void add_usage(OpenMetricsText& text, const executions::ExecutionRegistry& executions,
               const executions::Statistics& now) {
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

void add_spans(OpenMetricsText& text, const traces::Queue& spans) {
  text.family("warder_spans", "counter", "", "Spans that the collector accepted, and spans that were dropped.");
  text.sample("_total", {{"result", "exported"}}, spans.counts.exported);
  text.sample("_total", {{"result", "dropped"}}, spans.counts.dropped);
  text.family("warder_spans_now", "gauge", "", "Spans that wait to be sent.");
  text.sample("", {}, spans.size());
}

}  // namespace

std::string exposition(const executions::ExecutionRegistry& executions, const jail::Pool* pool,
                       const traces::Queue* spans, const DaemonNumbers& daemon) {
  const executions::Statistics now = executions::take_statistics(executions, pool);
  OpenMetricsText text;
  add_daemon(text, daemon);
  add_loop(text, daemon.longest_turn);
  add_executions(text, executions, now);
  add_times(text, executions, "warder_answer_seconds", "Time from a call of execute_code to its answer.",
            &executions::Sums::answer_times);
  add_times(text, executions, "warder_program_seconds", "Wall time of programs.", &executions::Sums::wall_times);
  add_usage(text, executions, now);
  add_fleet(text, daemon.fleet);
  if (spans) add_spans(text, *spans);
  return std::move(text).end();
}

}  // namespace metrics
