// The tree of a filter against the plain list that it is made of: each number, also where jumps are long.
#include "policies/call_tree.h"

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <seccomp.h>

#include <cerrno>

#include "tests/catch.h"
#include "tests/policies/bpf_evaluator.h"

using policies::CallAnswer;

namespace {

constexpr uint32_t kFirstProgram = SECCOMP_RET_ERRNO | E2BIG, kSecondProgram = SECCOMP_RET_ERRNO | EXDEV;

std::vector<std::vector<sock_filter>> two_programs() {
  return {{BPF_STMT(BPF_RET | BPF_K, kFirstProgram)}, {BPF_STMT(BPF_RET | BPF_K, kSecondProgram)}};
}

uint32_t asked(const std::vector<sock_filter>& program, uint32_t number, uint32_t arch = seccomp_arch_native()) {
  seccomp_data call{};
  call.nr = static_cast<int>(number);
  call.arch = arch;
  return evaluate(program, call).action;
}

}  // namespace

TEST_CASE("the tree answers each number as the list does", "[seccomp]") {
  // 1: each number is a range of its own, and half the tree is longer than a conditional jump reaches.
  const size_t run = GENERATE(size_t{1}, size_t{3}, size_t{200}, size_t{1000});
  const size_t count = GENERATE(size_t{1}, size_t{2}, size_t{700});
  CAPTURE(run, count);
  std::vector<CallAnswer> answers;
  for (size_t i = 0; i < count; i++) {
    CallAnswer answer{SECCOMP_RET_ERRNO | static_cast<uint32_t>(1 + i / run % 100), {}};
    if (i / run % 7 == 3) answer.program = i / run % 2;
    answers.push_back(answer);
  }
  const auto program = policies::make_call_tree(answers, two_programs());
  for (uint32_t number = 0; number < count; number++) {
    CAPTURE(number);
    const CallAnswer& answer = answers[number];
    const uint32_t expected = !answer.program ? answer.action : *answer.program == 0 ? kFirstProgram : kSecondProgram;
    if (asked(program, number) != expected) FAIL_CHECK("another answer than the list's");
  }
  CHECK(asked(program, static_cast<uint32_t>(count)) == (SECCOMP_RET_ERRNO | ENOSYS));
  CHECK(asked(program, 0x3fffffff) == (SECCOMP_RET_ERRNO | ENOSYS));
}

TEST_CASE("calls of other architectures end the process, and -1 is refused", "[seccomp]") {
  const auto program = policies::make_call_tree({CallAnswer{SECCOMP_RET_ALLOW, {}}}, {});
  CHECK(asked(program, 0) == SECCOMP_RET_ALLOW);
  CHECK(asked(program, 0, AUDIT_ARCH_I386) == SECCOMP_RET_KILL_PROCESS);
  CHECK(asked(program, UINT32_MAX) == (SECCOMP_RET_ERRNO | EPERM));
  const bool has_x32 = seccomp_arch_native() == SCMP_ARCH_X86_64;
  CHECK(asked(program, 0x40000000) == (has_x32 ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ERRNO | EPERM));
}
