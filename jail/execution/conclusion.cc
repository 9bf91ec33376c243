#include "jail/execution/conclusion.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include "jail/advice.h"

namespace jail {
namespace {

constexpr size_t kAdvisedOn = 4096;  // bytes at the end of the program's output that are searched for a cause

CapturedStream captured(const Capture& stream) {
  return {stream.text(), stream.bytes(), stream.lines(), stream.truncated(), stream.has_overwritten()};
}

// Adds advice to the report: the likely cause of the failure, found by words in the program's output.
void advise(Report& report, const EndedProgram& program, const LimitTexts& limits) {
  const Request& request = program.request;
  const bool failed = report.outcome != Outcome::ok;
  if (report.outcome == Outcome::forbidden_call)
    report.message +=
        fmt::format(": {} (rule: seccomp/{}, kill)", forbidden_call_advice(request.code), request.seccomp_profile);
  if (report.error.find("no network") != std::string::npos) return;  // the runner's message says it already
  std::string words = program.err.last(kAdvisedOn);
  if (failed) words = report.error.substr(0, kAdvisedOn) + "\n" + words;
  // A program that chose its exit status, and a shell program, may have printed the reason on either stream.
  const bool chose_status = report.outcome == Outcome::exit;
  if (chose_status || (failed && request.spec.language == Language::shell))
    words += "\n" + program.out.last(kAdvisedOn);
  std::string advice = network_advice(words, request.spec.listens ? Network::by_proxy : Network::none);
  if (advice.empty() && failed && request.spec.language == Language::shell)
    advice = shell_language_advice(program.err.last(kAdvisedOn), request.code);
  if (advice.empty() && !program.has_cgroup) advice = shared_memory_advice(words, request.code);
  if (advice.empty() && failed && report.outcome != Outcome::disk) advice = space_advice(words, request.code, limits);
  if (!advice.empty()) report.message += (report.message.empty() ? "" : "; ") + advice;
}

}  // namespace

void conclude(Report& report, const Evidence& evidence, const EndedProgram& program) {
  report.outcome = classify(evidence);
  report.at_disk_floor = report.outcome == Outcome::disk && evidence.ended == EndCause::disk_floor;
  const Spec& spec = program.request.spec;
  LimitTexts limits = texts_of(spec.limits);
  if (spec.at_ceiling.wall) limits.wall_ceiling = spec.at_ceiling.policy;
  if (spec.at_ceiling.memory) limits.memory_ceiling = spec.at_ceiling.policy;
  report.message = describe(report.outcome, evidence, limits);
  if (!program.violation.empty()) report.message += ": " + program.violation;
  advise(report, program, limits);
  if (const auto status = evidence.wait_status) {
    if (WIFEXITED(*status)) report.exit_status = WEXITSTATUS(*status);
    if (WIFSIGNALED(*status)) report.signal = WTERMSIG(*status);
  }
  report.out = captured(program.out);
  report.err = captured(program.err);
}

void count_left_running(Report& report, const InitReport& exited, uint32_t tasks) {
  if (exited.remaining_processes > tasks) {  // kRemainderUncounted, or a number that cannot be true
    report.left_running = 0;
  } else if (exited.remaining_processes > 0) {
    report.left_running = exited.remaining_processes;
  }
}

}  // namespace jail
