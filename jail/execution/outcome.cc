#include "jail/execution/outcome.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <iterator>

// A switch of this file that misses a value of its enum does not compile: a new outcome needs its sentence.
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wswitch"

namespace jail {

static_assert(kOutcomes == 15, "README.md, GLOSSARY.md and tools/guide.md say fifteen words; guide.md lists them");

namespace {

bool no_space(int error) { return error == ENOSPC || error == EDQUOT || error == EFBIG; }

int signal_of(const Evidence& e) { return e.wait_status && WIFSIGNALED(*e.wait_status) ? WTERMSIG(*e.wait_status) : 0; }
int exit_of(const Evidence& e) { return e.wait_status && WIFEXITED(*e.wait_status) ? WEXITSTATUS(*e.wait_status) : 0; }

bool failed(const Evidence& e) { return e.guest_error || signal_of(e) != 0 || exit_of(e) != 0 || !e.wait_status; }

}  // namespace

Outcome classify(const Evidence& e) {
  if (e.ended == EndCause::cancelled) return Outcome::cancelled;
  // If the kernel killed a process for memory but the program continued and answered, the outcome is not `memory`.
  if (e.oom_kills > 0 && failed(e)) return Outcome::memory;
  switch (e.ended) {
    case EndCause::memory_watch:
      return Outcome::memory;
    case EndCause::output_limit:
      return Outcome::output;
    case EndCause::disk_limit:
    case EndCause::disk_floor:
      return Outcome::disk;
    case EndCause::protocol:
      return Outcome::protocol;
    case EndCause::cpu_limit:
      return Outcome::cpu_time;
    case EndCause::deadline:
      return Outcome::timeout;
    case EndCause::cancelled:
    case EndCause::by_itself:
      break;
  }
  int signal = signal_of(e);
  if (signal == SIGSYS) return Outcome::forbidden_call;
  if (signal == SIGXCPU) return Outcome::cpu_time;
  if (signal == SIGXFSZ) return Outcome::disk;
  if (e.guest_error) {
    if (no_space(e.guest_errno)) return Outcome::disk;
    if (e.guest_out_of_memory || e.guest_errno == ENOMEM) return Outcome::memory;
    if (e.guest_errno == EAGAIN || e.tasks_refused > 0) return Outcome::pids;
    return Outcome::error;
  }
  if (e.tasks_refused > 0 && failed(e)) return Outcome::pids;
  if (signal != 0) return Outcome::signal;
  if (exit_of(e) != 0) return Outcome::exit;
  if (!e.wait_status) return Outcome::internal;
  return Outcome::ok;
}

LimitTexts texts_of(const policies::Limits& limits) {
  return {std::chrono::duration<double>(limits.wall).count(),
          std::chrono::duration<double>(limits.cpu).count(),
          limits.memory_bytes,
          limits.output_total_bytes,
          limits.file_bytes,
          policies::temporary_bytes(limits),
          limits.tasks};
}

namespace {

// The first part of a remedy: "ask for more memory_mb, or ", or who can raise the policy's maximum.
std::string more_of(std::string_view request, std::string_view key, std::string_view ceiling) {
  if (ceiling.empty()) return fmt::format("ask for {}, or ", request);
  return fmt::format("this is the maximum of policy '{}', which only an administrator can raise ({}); ", ceiling, key);
}

constexpr std::string_view kNoSpace[] = {"No space left on device", "ENOSPC"};
// Words of paths, and of functions that make files in TMPDIR.
constexpr std::string_view kOfTemporaryFolders[] = {"/tmp/", "/home/agent", "/dev/shm", "tempfile", "mktemp", "tmpdir"};

bool names_one_of(std::string_view text, const auto& words) {
  return std::any_of(std::begin(words), std::end(words), [&](std::string_view w) { return text.find(w) != text.npos; });
}

std::string full_temporary_folder(const LimitTexts& limits) {
  return fmt::format(
      "/tmp, /home/agent and /dev/shm hold {} each, in memory: write large files to /workspace, and set "
      "TMPDIR=/workspace for programs that need a large temporary folder",
      policies::bytes_text(limits.tmp_bytes));
}

std::string describe_disk(const Evidence& e, const LimitTexts& limits) {
  if (e.ended == EndCause::disk_floor)
    return "ended because the disk that all tenants share is nearly full, and this program had taken most of it; "
           "delete files in the workspace, or write less data";
  if (signal_of(e) == SIGXFSZ || e.guest_errno == EFBIG)
    return fmt::format("ran out of space: a file may have at most {}; write several smaller files",
                       policies::bytes_text(limits.file_bytes));
  if (e.ended == EndCause::disk_limit || e.guest_errno == EDQUOT)
    return "ran out of space: the workspace has reached its quota; delete files there or write less data";
  return "ran out of space: " + full_temporary_folder(limits) + "; if /workspace is full, its quota is used up";
}

}  // namespace

std::string space_advice(std::string_view text, std::string_view code, const LimitTexts& limits) {
  if (!names_one_of(text, kNoSpace)) return "";
  if (names_one_of(text, kOfTemporaryFolders) ||
      (text.find("/workspace") == text.npos && names_one_of(code, kOfTemporaryFolders)))
    return full_temporary_folder(limits);
  return full_temporary_folder(limits) + "; if /workspace is full, its quota is used up";
}

std::string describe(Outcome outcome, const Evidence& e, const LimitTexts& limits) {
  std::string refused = e.tasks_refused > 0 ? fmt::format("; {} new processes or threads were refused (limit {})",
                                                          e.tasks_refused, limits.tasks)
                                            : "";
  switch (outcome) {
    case Outcome::ok:
    case Outcome::error:
      return "";
    case Outcome::exit:
      return fmt::format("exited with status {}", exit_of(e));
    case Outcome::signal:
      return fmt::format("ended by signal {} ({})", signal_of(e), strsignal(signal_of(e)));
    case Outcome::timeout:
      return fmt::format("Execution timed out after {:g} seconds{}; {}do less work in one call", limits.wall_seconds,
                         refused, more_of("a longer timeout_seconds", "limits.maximum.wall_ms", limits.wall_ceiling));
    case Outcome::cpu_time:
      return fmt::format("used its {:g} seconds of CPU time; do less work in one call", limits.cpu_seconds);
    case Outcome::memory:
      return fmt::format("ran out of memory: the limit is {} MB{}; {}process the data in parts",
                         limits.memory_bytes >> 20,
                         limits.memory_bytes <= 4 * limits.tmp_bytes ? " (files in /tmp count)" : "",
                         more_of("more memory_mb", "limits.maximum.memory_bytes", limits.memory_ceiling));
    case Outcome::pids:
      return fmt::format("reached its limit of {} processes and threads; start fewer processes at one time",
                         limits.tasks);
    case Outcome::output:
      return fmt::format(
          "wrote more than {} bytes to a stream, the most that the policy allows (limits.standard.output_total_bytes); "
          "write large data to a file in the workspace",
          limits.output_bytes);
    case Outcome::disk:
      return describe_disk(e, limits);
    case Outcome::forbidden_call:
      return "made a system call that jails never allow";
    case Outcome::cancelled:
      return "cancelled: the client or an administrator ended it";
    case Outcome::denied:
      return "refused by policy";
    case Outcome::protocol:
      return "the program wrote to the supervisor's channel (descriptor 3); do not use this descriptor";
    case Outcome::internal:
      return e.jailer_exited
                 ? "the jail ended with warderd's jailer, the process that builds jails: a fault of the "
                   "daemon, not of the program; the service restarts by itself"
                 : "the jail was ended from outside, not by the program: by another process of this machine, or by "
                   "its kernel because memory ran out";
  }
  return "";
}

}  // namespace jail

#pragma GCC diagnostic pop
