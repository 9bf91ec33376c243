#include "jail/execution/outcome.h"

#include <cerrno>
#include <csignal>

#include "tests/catch.h"

using namespace jail;

namespace {

constexpr int exited(int status) { return status << 8; }  // wait(2)
constexpr int signaled(int signal) { return signal; }

Evidence ended_by(EndCause why) {
  Evidence e;
  e.ended = why;
  e.wait_status = signaled(SIGKILL);  // the supervisor's own kill is never the cause
  return e;
}
Evidence with_status(int status) {
  Evidence e;
  e.wait_status = status;
  return e;
}
Evidence with_error(int error) {
  Evidence e = with_status(exited(1));
  e.guest_error = true;
  e.guest_errno = error;
  return e;
}
Evidence with_oom(Evidence e) {
  e.oom_kills = 1;
  return e;
}
Evidence with_refused_tasks(Evidence e) {
  e.tasks_refused = 3;
  return e;
}
Evidence with_memory_error() {
  Evidence e = with_error(0);
  e.guest_out_of_memory = true;
  return e;
}

struct Row {
  const char* what;
  Evidence evidence;
  Outcome expected;
};

const Row kRows[] = {
    {"status 0", with_status(exited(0)), Outcome::ok},
    {"another status", with_status(exited(3)), Outcome::exit},
    {"an uncaught exception", with_error(0), Outcome::error},
    {"a signal", with_status(signaled(SIGSEGV)), Outcome::signal},
    {"a signal with a core dump", with_status(signaled(SIGSEGV) | 0x80), Outcome::signal},
    {"SIGSYS", with_status(signaled(SIGSYS)), Outcome::forbidden_call},
    {"SIGSYS with a core dump", with_status(signaled(SIGSYS) | 0x80), Outcome::forbidden_call},
    {"SIGXCPU", with_status(signaled(SIGXCPU)), Outcome::cpu_time},
    {"SIGXFSZ", with_status(signaled(SIGXFSZ)), Outcome::disk},
    {"no word from init", Evidence{}, Outcome::internal},
    {"the deadline", ended_by(EndCause::deadline), Outcome::timeout},
    {"the CPU limit", ended_by(EndCause::cpu_limit), Outcome::cpu_time},
    {"the memory watch", ended_by(EndCause::memory_watch), Outcome::memory},
    {"too much output", ended_by(EndCause::output_limit), Outcome::output},
    {"the quota", ended_by(EndCause::disk_limit), Outcome::disk},
    {"the disk's floor", ended_by(EndCause::disk_floor), Outcome::disk},
    {"a broken protocol", ended_by(EndCause::protocol), Outcome::protocol},
    {"cancellation", ended_by(EndCause::cancelled), Outcome::cancelled},
    {"cancellation while memory ran out", with_oom(ended_by(EndCause::cancelled)), Outcome::cancelled},
    {"the deadline while memory ran out", with_oom(ended_by(EndCause::deadline)), Outcome::memory},
    {"an OOM kill of the program", with_oom(with_status(signaled(SIGKILL))), Outcome::memory},
    {"an OOM kill of everything, init too", with_oom(Evidence{}), Outcome::memory},
    {"an OOM kill of a child, survived", with_oom(with_status(exited(0))), Outcome::ok},
    {"MemoryError", with_memory_error(), Outcome::memory},
    {"ENOMEM", with_error(ENOMEM), Outcome::memory},
    {"ENOSPC", with_error(ENOSPC), Outcome::disk},
    {"EDQUOT", with_error(EDQUOT), Outcome::disk},
    {"EFBIG", with_error(EFBIG), Outcome::disk},
    {"EAGAIN of a fork", with_error(EAGAIN), Outcome::pids},
    {"an error of another kind", with_error(ENOENT), Outcome::error},
    {"an exception after refused threads", with_refused_tasks(with_error(0)), Outcome::pids},
    {"a bad status after refused threads", with_refused_tasks(with_status(exited(1))), Outcome::pids},
    {"refused threads, survived", with_refused_tasks(with_status(exited(0))), Outcome::ok},
    {"the deadline after refused forks", with_refused_tasks(ended_by(EndCause::deadline)), Outcome::timeout},
    {"SIGKILL of itself", with_status(signaled(SIGKILL)), Outcome::signal},
};

constexpr LimitTexts kLimits{2.5, 10, 300 << 20, 4'000'000, 100 << 20, 64 << 20, 32};

}  // namespace

TEST_CASE("an outcome is derived from the strongest evidence", "[jail]") {
  for (const Row& row : kRows) {
    CAPTURE(row.what);
    CHECK(outcome_name(classify(row.evidence)) == outcome_name(row.expected));
  }
}

TEST_CASE("every outcome has a name of its own", "[jail]") {
  CHECK(outcome_name(Outcome::ok) == "ok");
  CHECK(outcome_name(Outcome::forbidden_call) == "forbidden_call");
  CHECK(outcome_name(Outcome::internal) == "internal");
  for (int i = 0; i < static_cast<int>(Outcome::internal); i++)
    CHECK(outcome_name(static_cast<Outcome>(i)) != outcome_name(static_cast<Outcome>(i + 1)));
}

TEST_CASE("an outcome's message names the limit and what to change", "[jail]") {
  auto [outcome, part] = GENERATE(table<Outcome, std::string>({
      {Outcome::exit, "exited with status 3"},
      {Outcome::timeout, "timed out after 2.5 seconds"},
      {Outcome::timeout, "timeout_seconds"},
      {Outcome::cpu_time, "10 seconds of CPU time"},
      {Outcome::memory, "300 MB"},
      {Outcome::memory, "memory_mb"},
      {Outcome::pids, "32 processes and threads"},
      {Outcome::output, "4000000 bytes"},
      {Outcome::disk, "/tmp, /home/agent and /dev/shm hold 64 MiB each"},
      {Outcome::disk, "/workspace"},
      {Outcome::forbidden_call, "system call"},
      {Outcome::protocol, "descriptor 3"},
      {Outcome::cancelled, "cancelled"},
      {Outcome::internal, "ended from outside"},
  }));
  CAPTURE(outcome_name(outcome));
  CHECK_THAT(describe(outcome, with_status(exited(3)), kLimits), Catch::Matchers::Contains(part));
}

TEST_CASE("a message about space names the place that is full, and the way out", "[jail]") {
  using Catch::Matchers::Contains, Catch::Matchers::StartsWith;
  auto quota = ended_by(EndCause::disk_limit);
  CHECK_THAT(describe(Outcome::disk, quota, kLimits), Contains("the workspace has reached its quota"));
  CHECK_THAT(describe(Outcome::disk, with_error(EDQUOT), kLimits), Contains("the workspace has reached its quota"));
  for (const Evidence& large : {with_error(EFBIG), with_status(signaled(SIGXFSZ))})
    CHECK_THAT(describe(Outcome::disk, large, kLimits), Contains("a file may have at most 100 MiB"));
  CHECK_THAT(describe(Outcome::disk, with_error(ENOSPC), kLimits), Contains("TMPDIR=/workspace"));

  constexpr const char* kSort = "sort: write failed: /tmp/sortx: No space left on device";
  CHECK_THAT(space_advice(kSort, "sort big", kLimits), StartsWith("/tmp, /home/agent and /dev/shm hold 64 MiB each"));
  CHECK_THAT(space_advice(kSort, "sort big", kLimits), !Contains("quota"));
  CHECK_THAT(space_advice("dd: No space left on device", "dd of=x", kLimits), Contains("its quota is used up"));
  CHECK(space_advice("sort: no such file: /tmp/x", "", kLimits).empty());
}

TEST_CASE("where files in /tmp are a large part of the memory, its message says so", "[jail]") {
  LimitTexts small = kLimits;
  small.memory_bytes = 64 << 20;
  CHECK_THAT(describe(Outcome::memory, with_status(exited(1)), small),
             Catch::Matchers::Contains("files in /tmp count"));
  CHECK_THAT(describe(Outcome::memory, with_status(exited(1)), kLimits), !Catch::Matchers::Contains("/tmp"));
}

TEST_CASE("the message of a timeout tells of refused processes, and of nothing otherwise", "[jail]") {
  auto refused = describe(Outcome::timeout, with_refused_tasks(ended_by(EndCause::deadline)), kLimits);
  CHECK_THAT(refused, Catch::Matchers::Contains("3 new processes or threads were refused (limit 32)"));
  auto plain = describe(Outcome::timeout, ended_by(EndCause::deadline), kLimits);
  CHECK_THAT(plain, !Catch::Matchers::Contains("refused"));
}

TEST_CASE("at the policy's maximum the remedy is not to ask for more", "[jail]") {
  LimitTexts limits = kLimits;
  CHECK_THAT(describe(Outcome::memory, {}, limits), Catch::Matchers::Contains("ask for more memory_mb"));
  CHECK_THAT(describe(Outcome::timeout, {}, limits), Catch::Matchers::Contains("ask for a longer timeout_seconds"));
  limits.wall_ceiling = limits.memory_ceiling = "small";
  for (const auto outcome : {Outcome::memory, Outcome::timeout}) {
    const std::string text = describe(outcome, {}, limits);
    CHECK_THAT(text, !Catch::Matchers::Contains("ask for"));
    CHECK_THAT(text, Catch::Matchers::Contains("maximum of policy 'small', which only an administrator can raise"));
  }
}

TEST_CASE("a signal is named by number and word, ok and error need no message", "[jail]") {
  CHECK_THAT(describe(Outcome::signal, with_status(signaled(SIGSEGV)), kLimits),
             Catch::Matchers::Contains("signal 11") && Catch::Matchers::Contains("Segmentation"));
  CHECK(describe(Outcome::ok, {}, kLimits).empty());
  CHECK(describe(Outcome::error, {}, kLimits).empty());
}
