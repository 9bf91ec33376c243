// How long the daemon's one loop kept everybody waiting, what it did then, and what helps.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include "supervisor/doctor/doctor.h"

namespace doctor {
namespace {

constexpr std::chrono::milliseconds kLong{100};

const char* remedy_for(Work work) {
  switch (work) {
    case Work::client_message:
    case Work::arguments:
      return "have that client send less in one call: what is large belongs in a file of the workspace "
             "(write_workspace_file, in parts)";
    case Work::answer:
      return "lower limits.standard.result_bytes and limits.standard.output_bytes in that tenant's policy, or have its "
             "agent ask for less at once";
    case Work::personal_data:
      return "have smaller texts sanitised at once, or let that tenant's answers leave as they are: pii.answers in its "
             "policy";
    case Work::program_message:
    case Work::program_answer:
    case Work::program_output:
      return "lower limits.standard.result_bytes and limits.standard.output_bytes in that tenant's policy; what is "
             "large "
             "belongs in files of its workspace";
    case Work::jail:
      return "have fewer programs at once (admission.concurrent_executions in the policies), and see that the machine "
             "is not short of "
             "memory: free -m";
    case Work::server_message:
    case Work::server_request:
      return "have its tools asked for less at once (pages, select); warder audit says which were called";
    case Work::definitions:
    case Work::search:
      return "have fewer tools: leave out servers, or parts of the catalogue, that nobody uses";
    case Work::workspace:
      return "lower quota.workspace_files in that tenant's policy; see that the disk of the state directory is not "
             "slow: iostat "
             "-x";
    case Work::journal:
    case Work::policies:
    case Work::doctor:
      return "see that the disk of the state directory and of the policies is not slow: iostat -x";
    case Work::bus:
    case Work::metrics:
      return "have it asked less often";
    case Work::other:
      break;
  }
  return "journalctl -u warder says what went on then; see whether the machine was short of processors: cat "
         "/proc/pressure/cpu";
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
          fmt::format("at {:%FT%TZ} nobody was answered for {:.0f} ms; {:.0f} ms of that went into {}{}{}",
                      fmt::gmtime(longest.at), ms(longest.busy), ms(longest.worked), work_text(longest.work),
                      longest.whom.empty() ? "" : ", for ", longest.whom),
          fmt::format("{}. It is the longest time of the last {} minutes", remedy_for(longest.work), minutes)};
}

}  // namespace doctor
