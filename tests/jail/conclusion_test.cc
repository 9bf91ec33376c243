// The last part of a report: outcome, sentence, status, and the processes that a program left.
#include "jail/execution/conclusion.h"

#include <csignal>
#include <string>

#include "tests/catch.h"

using namespace jail;

namespace {

struct ConclusionScene {
  Request request;
  Capture out{{}, {}, {}, {}}, err{{}, {}, {}, {}};
  Evidence evidence;
  Report report;

  Report concluded(std::string violation = {}) {
    conclude(report, evidence, {request, out, err, std::move(violation), true});
    return report;
  }
};

InitReport with_others(uint32_t rest) {
  InitReport exited{};
  exited.event = InitEvent::exited;
  exited.remaining_processes = rest;
  return exited;
}

}  // namespace

TEST_CASE("the report of a program has the status or the signal of its end", "[conclusion]") {
  ConclusionScene exited;
  exited.evidence.wait_status = 3 << 8;  // wait(2)
  const Report of_exit = exited.concluded();
  CHECK(of_exit.outcome == Outcome::exit);
  CHECK(of_exit.message == "exited with status 3");
  CHECK(of_exit.exit_status == 3);
  CHECK_FALSE(of_exit.signal);

  ConclusionScene killed;
  killed.evidence.wait_status = SIGTERM;
  const Report of_signal = killed.concluded();
  CHECK(of_signal.outcome == Outcome::signal);
  CHECK(of_signal.signal == SIGTERM);
  CHECK_FALSE(of_signal.exit_status);

  ConclusionScene unknown;  // init did not report
  const Report of_nothing = unknown.concluded();
  CHECK(of_nothing.outcome == Outcome::internal);
  CHECK_FALSE(of_nothing.exit_status);
  CHECK_FALSE(of_nothing.signal);
}

TEST_CASE("the report of a violation says what the message was", "[conclusion]") {
  ConclusionScene ended;
  ended.evidence.ended = EndCause::protocol;
  const Report report = ended.concluded("an unexpected message");
  CHECK(report.outcome == Outcome::protocol);
  CAPTURE(report.message);
  CHECK(report.message.ends_with(": an unexpected message"));
}

TEST_CASE("a forbidden call names its rule", "[conclusion]") {
  ConclusionScene ended;
  ended.request.seccomp_profile = "strict";
  ended.evidence.wait_status = SIGSYS;
  const Report report = ended.concluded();
  CHECK(report.outcome == Outcome::forbidden_call);
  CHECK(report.message.ends_with("(rule: seccomp/strict, kill)"));
}

TEST_CASE("processes that a program left are counted, if init's number can be true", "[conclusion]") {
  struct Row {
    uint32_t remaining_processes;
    std::optional<uint32_t> remainder;
  };
  for (const Row& row : {Row{0, std::nullopt}, Row{2, 2}, Row{64, 64}, Row{65, 0}, Row{kUncounted, 0}}) {
    Report report;
    count_left_running(report, with_others(row.remaining_processes), 64);
    CHECK(report.left_running == row.remainder);
  }
}
