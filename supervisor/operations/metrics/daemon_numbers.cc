#include "supervisor/operations/metrics/daemon_numbers.h"

#include <fmt/format.h>

#include "supervisor/base/disk_faults.h"
#include "supervisor/base/durable.h"
#include "supervisor/base/version.h"
#include "supervisor/operations/metrics/text.h"

namespace metrics {
namespace {

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

}  // namespace

void write_daemon(OpenMetricsText& text, const DaemonNumbers& daemon) {
  text.family("warder_build", "info", "", "The daemon's version.");
  text.sample("_info", {{"version", kWarderVersion}}, 1);
  text.family("warder_start_time_seconds", "gauge", "seconds", "When the daemon started, since 1970.");
  text.sample("", {}, static_cast<uint64_t>(daemon.started));
  text.family("warder_disk_waits", "counter", "", "Waits until a write is on the disk; one on the loop is a bug.");
  text.sample("_total", {{"thread", "loop"}}, durable::calls_on_loop());
  text.sample("_total", {{"thread", "other"}}, durable::calls() - durable::calls_on_loop());
  text.family("warder_disk_faults", "counter", "",
              "Writes that failed because the disk was full, over a quota, broken or read-only.");
  text.sample("_total", {}, disk_faults::noted().count);
  text.family(
      "warder_configuration_ok", "gauge", "",
      "1 if the configuration's files are in force; 0 if they had a mistake at the start or at the last reload.");
  text.sample("", {}, daemon.configuration_ok ? 1 : 0);
  text.family(
      "warder_missing_listeners", "gauge", "",
      "Listeners that the configuration names and that the daemon does without: an address is in use, or a folder "
      "cannot be written.");
  text.sample("", {}, daemon.missing_listeners);
  add_loop(text, daemon.longest_turn);
}

}  // namespace metrics
