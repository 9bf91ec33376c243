// Judges the daemon's event loop: the longest time for which it was busy, the work of that time, and the remedy.
#include <fmt/format.h>

#include <ctime>

#include "supervisor/operations/doctor/doctor.h"

namespace doctor {
namespace {

constexpr std::chrono::milliseconds kLong{100};

const char* remedy_for(LoopWork work) {
  switch (work) {
    case LoopWork::client_message:
    case LoopWork::arguments:
      return "let that client send less data in one call: large data belongs in a file of the workspace "
             "(write_workspace_file, in parts)";
    case LoopWork::answer:
      return "lower limits.standard.result_bytes and limits.standard.output_bytes in that tenant's policy, or let its "
             "agent ask for less data in one call";
    case LoopWork::personal_data:
      return "let smaller texts be sanitised in one call, or switch off sanitising of answers: pii.answers in that "
             "tenant's policy";
    case LoopWork::program_message:
    case LoopWork::program_answer:
    case LoopWork::program_output:
      return "lower limits.standard.result_bytes and limits.standard.output_bytes in that tenant's policy; large data "
             "belongs in files of its workspace";
    case LoopWork::jail:
      return "lower admission.concurrent_executions in the policies, and check that the machine "
             "has enough free memory: free -m";
    case LoopWork::server_message:
    case LoopWork::server_request:
      return "ask the server's tools for less data in one call (pages, select)";
    case LoopWork::definitions:
    case LoopWork::search:
      return "remove servers, or parts of the catalog, that no agent uses";
    case LoopWork::workspace:
      return "lower quota.workspace_files in that tenant's policy; check that the disk of the state folder is not "
             "slow: iostat -x";
    case LoopWork::journal:
    case LoopWork::policies:
    case LoopWork::doctor:
      return "check that the disk of the state folder and of the policies is not slow: iostat -x";
    case LoopWork::bus:
    case LoopWork::metrics:
      return "call D-Bus and the metrics socket less often";
    case LoopWork::other:
      break;
  }
  return "see journalctl -u warder for that time, and check whether the machine has too few processors: cat "
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
  const std::string subject = "loop";
  const auto minutes = BusyTime::kRemembered.count();
  if (longest.busy <= kLong)
    return {subject,
            Health::good,
            fmt::format("in the last {} minutes no client waited longer than {:.1f} ms for the work of other clients",
                        minutes, ms(longest.busy)),
            {}};
  return {subject, Health::note,
          fmt::format("at {} no client was answered for {:.0f} ms; {:.0f} ms of that went into {}{}{}", utc(longest.at),
                      ms(longest.busy), ms(longest.worked), work_text(longest.work),
                      longest.whom.empty() ? "" : ", for ", longest.whom),
          fmt::format("{}. It is the longest time of the last {} minutes", remedy_for(longest.work), minutes)};
}

}  // namespace doctor
