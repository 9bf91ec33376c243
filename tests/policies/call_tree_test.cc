// The tree of a filter against the plain list that it is made of: each number, also where jumps are long, and the tests
// of arguments against a plain comparison.
#include "policies/call_tree.h"

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <seccomp.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <random>

#include "tests/catch.h"
#include "tests/policies/bpf_evaluator.h"

using policies::ArgumentTest;
using policies::CallAnswer;
using policies::make_call_tree;

namespace {

using Arguments = std::array<uint64_t, 6>;

uint32_t requested(const std::vector<sock_filter>& program, uint32_t number, const Arguments& arguments = {},
                   uint32_t arch = seccomp_arch_native()) {
  seccomp_data call{};
  call.nr = static_cast<int>(number);
  call.arch = arch;
  std::copy(arguments.begin(), arguments.end(), call.args);
  return evaluate(program, call).action;
}

uint32_t expected(const CallAnswer& answer, const Arguments& arguments) {
  const auto is_true = [&](const ArgumentTest& test) {
    const uint32_t value = static_cast<uint32_t>(arguments.at(test.argument)) & test.mask;
    return std::find(test.values.begin(), test.values.end(), value) != test.values.end();
  };
  const bool allowed = std::any_of(answer.allowed_when.begin(), answer.allowed_when.end(),
                                   [&](const auto& tests) { return std::all_of(tests.begin(), tests.end(), is_true); });
  return allowed ? SECCOMP_RET_ALLOW : answer.action;
}

// Answers with tests are some of both kinds, and plain ones are the rest.
std::vector<CallAnswer> some_answers(size_t count, size_t run) {
  const std::vector<ArgumentTest> values = {{1, ~0u, {7, 5, 6, 100, 0x80000000, ~0u}}};
  const std::vector<ArgumentTest> bits = {{0, 0xf0, {0x10, 0x20, 0x30}}, {2, ~0u, {0}}};
  const std::vector<ArgumentTest> other = {{0, ~0u, {0, 1, 9}}};
  std::vector<CallAnswer> answers;
  for (size_t i = 0; i < count; i++) {
    CallAnswer answer{SECCOMP_RET_ERRNO | static_cast<uint32_t>(1 + i / run % 100), {}};
    if (i / run % 7 == 3) answer = {SECCOMP_RET_ERRNO | EINVAL, {values}};
    if (i / run % 7 == 5) answer = {SECCOMP_RET_ERRNO | ENOTTY, {bits, other}};
    answers.push_back(answer);
  }
  return answers;
}

}  // namespace

TEST_CASE("the tree answers each number as the list does", "[seccomp]") {
  // 1: each number is a range of its own, and half the tree is longer than a conditional jump reaches.
  const size_t run = GENERATE(size_t{1}, size_t{3}, size_t{200}, size_t{1000});
  const size_t count = GENERATE(size_t{1}, size_t{2}, size_t{700});
  CAPTURE(run, count);
  const std::vector<CallAnswer> answers = some_answers(count, run);
  const auto program = make_call_tree(answers);
  // Upper halves of arguments do not count.
  const Arguments lists[] = {
      {},        {0x15, 4, 0},     {0x15, 5, 0},     {0x2f, 6, 1},           {0x40, 8, 0},
      {9, 99},   {1, 100, 3},      {2, 101},         {0, 0x80000000, 1},     {0x1ffffffff, ~0ull},
      {8, ~0u},  {0x115, 7, 0},    {0x100000009, 0}, {0x31, 0x100000005, 1}, {10, 0x7fffffff},
      {0x0f, 3}, {0x3f, 1, 1 << 8}};
  for (uint32_t number = 0; number < count; number++) {
    for (const Arguments& arguments : lists) {
      if (requested(program, number, arguments) == expected(answers[number], arguments)) continue;
      CAPTURE(number, arguments);
      FAIL_CHECK("another answer than the list's");
    }
  }
  CHECK(requested(program, static_cast<uint32_t>(count)) == (SECCOMP_RET_ERRNO | ENOSYS));
  CHECK(requested(program, 0x3fffffff) == (SECCOMP_RET_ERRNO | ENOSYS));
}

TEST_CASE("values of an argument are compared where jumps are long, too", "[seccomp]") {
  std::mt19937 random(1);
  const uint32_t spread = GENERATE(1000u, ~0u);  // many neighbours, or none
  ArgumentTest test{3, ~0u, {}};
  for (int i = 0; i < 600; i++) test.values.push_back(static_cast<uint32_t>(random()) % spread);
  const std::vector<CallAnswer> answers(3, {SECCOMP_RET_ERRNO | EPERM, {{test}, {{4, ~0u, {77}}}}});
  const auto program = make_call_tree(answers);
  for (const uint32_t value : test.values) {
    for (const uint32_t near : {value - 1, value, value + 1}) {
      const Arguments arguments = {0, 0, 0, near, 76};
      if (requested(program, 1, arguments) == expected(answers[1], arguments)) continue;
      CAPTURE(near);
      FAIL_CHECK("another answer than the list's");
    }
  }
  CHECK(requested(program, 2, {0, 0, 0, 5000, 77}) == SECCOMP_RET_ALLOW);
}

TEST_CASE("equal answers and neighbouring values make one piece of program", "[seccomp]") {
  std::vector<uint32_t> values(400);
  for (uint32_t i = 0; i < values.size(); i++) values[i] = i;
  std::vector<CallAnswer> answers(400, {SECCOMP_RET_ERRNO | EPERM, {}});
  for (size_t i = 0; i < answers.size(); i += 100) answers[i] = {SECCOMP_RET_ERRNO | EINVAL, {{{1, ~0u, values}}}};
  CHECK(make_call_tree(answers).size() < 32);
}

TEST_CASE("calls of other architectures end the process, and -1 is refused", "[seccomp]") {
  const auto program = make_call_tree({CallAnswer{SECCOMP_RET_ALLOW, {}}});
  CHECK(requested(program, 0) == SECCOMP_RET_ALLOW);
  CHECK(requested(program, 0, {}, AUDIT_ARCH_I386) == SECCOMP_RET_KILL_PROCESS);
  CHECK(requested(program, UINT32_MAX) == (SECCOMP_RET_ERRNO | EPERM));
  const bool has_x32 = seccomp_arch_native() == SCMP_ARCH_X86_64;
  CHECK(requested(program, 0x40000000) == (has_x32 ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ERRNO | EPERM));
}
