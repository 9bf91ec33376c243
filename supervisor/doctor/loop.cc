// Judges the daemon's event loop: the longest time for which it was busy, the work of that time, and the remedy.
#include <fmt/format.h>

#include <ctime>

#include "supervisor/doctor/doctor.h"

namespace doctor {
namespace {

constexpr std::chrono::milliseconds kLong{100};

const char* remedy_for(LoopWork work) {
  switch (work) {
    case LoopWork::client_message:
    case LoopWork::arguments:
      return "have that client send less in one call: what is large belongs in a file of the workspace "
             "(write_workspace_file, in parts)";
    case LoopWork::answer:
      return "lower limits.standard.result_bytes and limits.standard.output_bytes in that tenant's policy, or have its "
             "agent ask for less at once";
    case LoopWork::personal_data:
      return "have smaller texts sanitised at once, or let that tenant's answers leave as they are: pii.answers in its "
             "policy";
    case LoopWork::program_message:
    case LoopWork::program_answer:
    case LoopWork::program_output:
      return "lower limits.standard.result_bytes and limits.standard.output_bytes in that tenant's policy; what is "
             "large belongs in files of its workspace";
    case LoopWork::jail:
      return "have fewer programs at once (admission.concurrent_executions in the policies), and see that the machine "
             "is not short of memory: free -m";
    case LoopWork::server_message:
    case LoopWork::server_request:
      return "have its tools asked for less at once (pages, select); warder audit says which were called";
    case LoopWork::definitions:
    case LoopWork::search:
      return "have fewer tools: leave out servers, or parts of the catalogue, that nobody uses";
    case LoopWork::workspace:
      return "lower quota.workspace_files in that tenant's policy; see that the disk of the state directory is not "
             "slow: iostat -x";
    case LoopWork::journal:
    case LoopWork::policies:
    case LoopWork::doctor:
      return "see that the disk of the state directory and of the policies is not slow: iostat -x";
    case LoopWork::bus:
    case LoopWork::metrics:
      return "have it asked less often";
    case LoopWork::other:
      break;
  }
  return "journalctl -u warder says what went on then; see whether the machine was short of processors: cat "
         "/proc/pressure/cpu";
}

std::string utc(std::time_t when) {
  std::tm parts{};
  char text[sizeof "2026-01-01T00:00:00Z"];
  const bool fits = ::gmtime_r(&when, &parts) && std::strftime(text, sizeof text, "%FT%TZ", &parts) > 0;
  return fits ? text : "";
}

double ms(BusyTime::Span span) { return std::chrono::duration<double, std::milli>(span).count(); }

}  // namespace

Finding judge_loop(const BusyTime::Turn& longest) {
  const std::string what = "loop";
  const auto minutes = BusyTime::kRemembered.count();
  if (longest.busy <= kLong)
    return {what,
            Health::good,
            fmt::format("in the last {} minutes nobody waited longer than {:.1f} ms for others' work", minutes,
                        ms(longest.busy)),
            {}};
  return {what, Health::note,
          fmt::format("at {} nobody was answered for {:.0f} ms; {:.0f} ms of that went into {}{}{}", utc(longest.at),
                      ms(longest.busy), ms(longest.worked), work_text(longest.work),
                      longest.whom.empty() ? "" : ", for ", longest.whom),
          fmt::format("{}. It is the longest time of the last {} minutes", remedy_for(longest.work), minutes)};
}

}  // namespace doctor
