// Outcome: how an execution ended, and the evidence for it. An outcome is a value, not an error.
// Source: exit status, cgroup events, deadlines, the guest's messages. Used by: jail/execution/conclusion.cc,
// jail/execution/running_execution.cc, jail/execution/meter.cc. Pure: tests/jail/outcome_test.cc is a table.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "policies/limits.h"

namespace jail {

enum class Outcome {
  ok,
  error,
  exit,
  signal,
  timeout,
  cpu_time,
  memory,
  pids,
  output,
  disk,
  forbidden_call,
  cancelled,
  denied,
  protocol,
  internal
};

// The outcome's word, for answers, the journal and D-Bus. Empty for a number that is no outcome. An outcome without its
// word does not compile.
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wswitch"
constexpr std::string_view outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::ok:
      return "ok";
    case Outcome::error:
      return "error";
    case Outcome::exit:
      return "exit";
    case Outcome::signal:
      return "signal";
    case Outcome::timeout:
      return "timeout";
    case Outcome::cpu_time:
      return "cpu_time";
    case Outcome::memory:
      return "memory";
    case Outcome::pids:
      return "pids";
    case Outcome::output:
      return "output";
    case Outcome::disk:
      return "disk";
    case Outcome::forbidden_call:
      return "forbidden_call";
    case Outcome::cancelled:
      return "cancelled";
    case Outcome::denied:
      return "denied";
    case Outcome::protocol:
      return "protocol";
    case Outcome::internal:
      return "internal";
  }
  return "";
}
#pragma GCC diagnostic pop

// The number of outcomes.
inline constexpr size_t kOutcomes = [] {
  size_t count = 0;
  while (!outcome_name(static_cast<Outcome>(count)).empty()) count++;
  return count;
}();

// Whether the text is the word of an outcome, so that a list of words can be checked by the compiler.
constexpr bool is_outcome_name(std::string_view text) {
  for (size_t i = 0; i < kOutcomes; i++)
    if (outcome_name(static_cast<Outcome>(i)) == text) return true;
  return false;
}

// Why the supervisor ended the jail, if it did.
// disk_limit: the workspace is over its quota. disk_floor: the disk of all tenants is nearly full, and this jail has
// written most to it.
enum class EndCause {
  by_itself,
  deadline,
  cpu_limit,
  memory_watch,
  output_limit,
  disk_limit,
  disk_floor,
  protocol,
  cancelled
};

struct Evidence {
  EndCause ended = EndCause::by_itself;
  std::optional<int> wait_status;    // of the runner, wait(2); absent when init could not report
  uint64_t oom_kills = 0;            // memory.events
  uint64_t tasks_refused = 0;        // pids.events
  bool guest_error = false;          // the result message holds an uncaught exception
  bool guest_out_of_memory = false;  // the exception is MemoryError, or the same in another language
  int guest_errno = 0;               // errno of the exception
  bool jailer_exited = false;        // the jailer has ended, and every jail with it
};

// The first outcome that applies, from the strongest cause to the weakest.
Outcome classify(const Evidence& evidence);

// One sentence for the agent: which limit, and what to change. Empty for ok and error.
struct LimitTexts {
  double wall_seconds = 0, cpu_seconds = 0;
  uint64_t memory_bytes = 0, output_bytes = 0, file_bytes = 0;
  uint64_t tmp_bytes = 0;  // of each temporary folder
  uint32_t tasks = 0;
  // The policy whose maximum the limit is; empty: the agent may ask for more.
  std::string_view wall_ceiling = {}, memory_ceiling = {};
};
LimitTexts texts_of(const policies::Limits& limits);
// Which place has no space left, and the way out, for a program whose output or error has the kernel's text about it.
// `text` and `code` may name the place. Empty without such a text.
std::string space_advice(std::string_view text, std::string_view code, const LimitTexts& limits);
std::string describe(Outcome outcome, const Evidence& evidence, const LimitTexts& limits);
// What to do after the outcome `internal`: it is not known how far the program came.
constexpr char kAfterInternal[] =
    "the program may have run, in part or completely: check its effects in the workspace, then call again";

}  // namespace jail
