#include "tests/policies/bpf_evaluator.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

seccomp_data made_up_call(long number, const Arguments& arguments, uint32_t arch) {
  seccomp_data call{};
  call.nr = static_cast<int>(number);
  call.arch = arch;
  std::copy(arguments.begin(), arguments.end(), call.args);
  return call;
}

uint32_t answer_before_allow(std::vector<sock_filter> instructions, long number, const Arguments& arguments,
                             uint32_t arch) {
  instructions.push_back(BPF_STMT(BPF_RET | BPF_K, kAllow));
  return evaluate(instructions, made_up_call(number, arguments, arch)).action;
}

FilterVerdict evaluate(const std::vector<sock_filter>& program, const seccomp_data& call) {
  if (program.empty() || program.size() > BPF_MAXINSNS) throw std::runtime_error("no program or too long a one");
  uint32_t accumulator = 0;
  size_t steps = 0;
  for (size_t at = 0; at < program.size();) {
    const sock_filter& instruction = program[at++];
    steps++;
    const uint32_t k = instruction.k;
    auto jump = [&](bool used) { at += used ? instruction.jt : instruction.jf; };
    switch (instruction.code) {
      case BPF_LD | BPF_W | BPF_ABS:
        if (k % 4 != 0 || k + 4 > sizeof call) throw std::runtime_error("load outside of seccomp_data");
        std::memcpy(&accumulator, reinterpret_cast<const char*>(&call) + k, 4);
        break;
      case BPF_ALU | BPF_AND | BPF_K:
        accumulator &= k;
        break;
      case BPF_JMP | BPF_JA:
        at += k;
        break;
      case BPF_JMP | BPF_JEQ | BPF_K:
        jump(accumulator == k);
        break;
      case BPF_JMP | BPF_JGT | BPF_K:
        jump(accumulator > k);
        break;
      case BPF_JMP | BPF_JGE | BPF_K:
        jump(accumulator >= k);
        break;
      case BPF_JMP | BPF_JSET | BPF_K:
        jump((accumulator & k) != 0);
        break;
      case BPF_RET | BPF_K:
        return {k, steps};
      default:
        throw std::runtime_error("an instruction that seccomp does not take");
    }
  }
  throw std::runtime_error("ran past the end");
}
