#include "policies/call_tree.h"

#include <linux/seccomp.h>
#include <seccomp.h>

#include <cerrno>
#include <cstddef>

namespace policies {
namespace {

using Program = std::vector<sock_filter>;

constexpr uint32_t kX32Bit = 0x40000000;  // __X32_SYSCALL_BIT
constexpr size_t kLongestJump = 255;
constexpr uint8_t kToProgram = 1;  // in `jt` of a jump, which the kernel does not read there: `k` is a program's index

struct Range {
  uint32_t first;
  CallAnswer answer;
};

std::vector<Range> ranges_of(const std::vector<CallAnswer>& answers) {
  std::vector<Range> ranges;
  for (uint32_t number = 0; number < answers.size(); number++)
    if (ranges.empty() || ranges.back().answer != answers[number]) ranges.push_back({number, answers[number]});
  return ranges;
}

void append(Program& program, const Program& more) { program.insert(program.end(), more.begin(), more.end()); }

Program tree_over(const Range* begin, const Range* end) {
  if (end - begin == 1) {
    if (!begin->answer.program) return {BPF_STMT(BPF_RET | BPF_K, begin->answer.action)};
    return {BPF_JUMP(BPF_JMP | BPF_JA, static_cast<uint32_t>(*begin->answer.program), kToProgram, 0)};
  }
  const Range* middle = begin + (end - begin) / 2;
  const Program lower = tree_over(begin, middle), upper = tree_over(middle, end);
  Program program;
  if (lower.size() <= kLongestJump) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, middle->first, static_cast<uint8_t>(lower.size()), 0));
  } else {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, middle->first, 0, 1));
    program.push_back(BPF_STMT(BPF_JMP | BPF_JA, static_cast<uint32_t>(lower.size())));
  }
  append(program, lower);
  append(program, upper);
  return program;
}

// Other architectures, and numbers from `count` on. The number of the call stays loaded.
Program beginning(uint32_t count) {
  const uint32_t native = seccomp_arch_native();
  // -1 is what a debugger makes of a call that it skips, and no call of x32.
  const uint32_t foreign = native == SCMP_ARCH_X86_64 ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ERRNO | EPERM;
  return {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, native, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, count, 0, 5),
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, kX32Bit, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, UINT32_MAX, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, foreign),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
  };
}

}  // namespace

std::vector<sock_filter> make_call_tree(const std::vector<CallAnswer>& answers,
                                        const std::vector<std::vector<sock_filter>>& programs) {
  const std::vector<Range> ranges = ranges_of(answers);
  Program whole = beginning(static_cast<uint32_t>(answers.size()));
  if (!ranges.empty()) append(whole, tree_over(ranges.data(), ranges.data() + ranges.size()));
  std::vector<size_t> starts;
  size_t start = whole.size();
  for (const auto& program : programs) {
    starts.push_back(start);
    start += program.size();
  }
  for (size_t at = 0; at < whole.size(); at++)
    if (whole[at].code == (BPF_JMP | BPF_JA) && whole[at].jt == kToProgram)
      whole[at] = BPF_STMT(BPF_JMP | BPF_JA, static_cast<uint32_t>(starts.at(whole[at].k) - at - 1));
  for (const auto& program : programs) append(whole, program);
  return whole;
}

}  // namespace policies
