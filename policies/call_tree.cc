#include "policies/call_tree.h"

#include <linux/seccomp.h>
#include <seccomp.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <map>

namespace policies {
namespace {

constexpr uint32_t kX32Bit = 0x40000000;  // __X32_SYSCALL_BIT
constexpr size_t kLongestJump = 255;      // of a conditional jump

// The number of instructions from there to the program's end, with its own.
using Position = size_t;

// A program is written from its last instruction to its first: jumps lead forwards only, so the place that a jump leads
// to is known when the jump is written.
class ProgramFromItsEnd {
 public:
  // The program ends there with this action.
  Position end(uint32_t action) {
    if (const auto it = ends_.find(action); it != ends_.end() && distance(it->second) < kLongestJump) return it->second;
    return ends_[action] = write(BPF_STMT(BPF_RET | BPF_K, action));
  }
  Position jump(uint16_t comparison, uint32_t value, Position if_true, Position if_false) {
    if (distance(if_false) >= kLongestJump) if_false = long_jump(if_false);  // the next line may add an instruction
    if (distance(if_true) > kLongestJump) if_true = long_jump(if_true);
    return write(BPF_JUMP(BPF_JMP | comparison | BPF_K, value, static_cast<uint8_t>(distance(if_true)),
                          static_cast<uint8_t>(distance(if_false))));
  }
  // Loads 32 bits of seccomp_data at this offset.
  Position load(size_t offset, Position next) {
    continue_at(next);
    return write(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset)));
  }
  Position mask(uint32_t bits, Position next) {
    continue_at(next);
    return write(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, bits));
  }
  std::vector<sock_filter> full() const { return {reversed_.rbegin(), reversed_.rend()}; }

 private:
  Position write(sock_filter instruction) {
    reversed_.push_back(instruction);
    return reversed_.size();
  }
  // The instructions between the one that is written next and that place.
  size_t distance(Position location) const { return reversed_.size() - location; }
  Position long_jump(Position location) {
    return write(BPF_STMT(BPF_JMP | BPF_JA, static_cast<uint32_t>(distance(location))));
  }
  void continue_at(Position next) {
    if (next != reversed_.size()) long_jump(next);
  }

  std::vector<sock_filter> reversed_;
  std::map<uint32_t, Position> ends_;  // the nearest place of each action
};

struct Values {
  uint32_t first, last;
};

std::vector<Values> ranges_of(std::vector<uint32_t> values) {
  std::sort(values.begin(), values.end());
  std::vector<Values> ranges;
  for (const uint32_t value : values) {
    if (!ranges.empty() && value - ranges.back().last <= 1) {
      ranges.back().last = value;
    } else {
      ranges.push_back({value, value});
    }
  }
  return ranges;
}

Position write_test(ProgramFromItsEnd& program, const ArgumentTest& test, Position if_true, Position if_false) {
  const std::vector<Values> ranges = ranges_of(test.values);
  Position next = if_false;
  for (auto range = ranges.rbegin(); range != ranges.rend(); ++range) {
    if (range->first == range->last) {
      next = program.jump(BPF_JEQ, range->first, if_true, next);
      continue;
    }
    next = program.jump(BPF_JGT, range->last, next, if_true);
    if (range->first > 0) next = program.jump(BPF_JGE, range->first, next, if_false);  // smaller ones were compared
  }
  if (test.mask != ~uint32_t{0}) next = program.mask(test.mask, next);
  constexpr size_t kLowHalf = std::endian::native == std::endian::little ? 0 : sizeof(uint32_t);
  return program.load(offsetof(seccomp_data, args) + test.argument * sizeof(uint64_t) + kLowHalf, next);
}

Position write_answer(ProgramFromItsEnd& program, const CallAnswer& answer) {
  Position next = program.end(answer.action);
  for (auto list = answer.allowed_when.rbegin(); list != answer.allowed_when.rend(); ++list) {
    const Position otherwise = next;
    next = program.end(SECCOMP_RET_ALLOW);
    for (auto test = list->rbegin(); test != list->rend(); ++test) next = write_test(program, *test, next, otherwise);
  }
  return next;
}

// Calls with neighbouring numbers and the same answer.
struct Calls {
  uint32_t first;
  uint32_t last;
  const CallAnswer* answer;
  Position slot = 0;  // of an answer with tests
};

std::vector<Calls> ranges_of(const std::vector<CallAnswer>& answers) {
  std::vector<Calls> ranges;
  for (uint32_t number = 0; number < answers.size(); number++) {
    if (ranges.empty() || *ranges.back().answer != answers[number]) ranges.push_back({number, 0, &answers[number]});
    ranges.back().last = number;
  }
  return ranges;
}

// The answers with tests are written before the tree, each once.
void write_tested_answers(ProgramFromItsEnd& program, std::vector<Calls>& ranges) {
  for (auto range = ranges.begin(); range != ranges.end(); ++range) {
    if (range->answer->allowed_when.empty()) continue;
    const auto same = std::find_if(ranges.begin(), range, [&](const Calls& r) { return *r.answer == *range->answer; });
    range->slot = same != range ? same->slot : write_answer(program, *range->answer);
  }
}

// Halves the numbers rather than the ranges: the kernel asks a new filter about each number (seccomp_cache_prepare() in
// kernel/seccomp.c).
const Calls* middle_of(const Calls* begin, const Calls* end) {
  const uint32_t half = begin->first + ((end - 1)->last - begin->first) / 2;
  return std::clamp(std::find_if(begin, end, [&](const Calls& r) { return r.first > half; }), begin + 1, end - 1);
}

Position write_tree(ProgramFromItsEnd& program, const Calls* begin, const Calls* end) {
  if (end - begin == 1) return begin->slot != 0 ? begin->slot : program.end(begin->answer->action);
  const Calls* middle = middle_of(begin, end);
  const Position upper = write_tree(program, middle, end), lower = write_tree(program, begin, middle);
  return program.jump(BPF_JGE, middle->first, upper, lower);
}

// The architecture, then numbers that have no answer, then the tree.
void write_beginning(ProgramFromItsEnd& program, uint32_t count, Position tree) {
  const uint32_t native = seccomp_arch_native();
  constexpr uint32_t kRefused = SECCOMP_RET_ERRNO | EPERM, kUnknown = SECCOMP_RET_ERRNO | ENOSYS;
  // -1 is what a debugger makes of a call that it skips, and no call of x32.
  const Position foreign = program.end(native == SCMP_ARCH_X86_64 ? SECCOMP_RET_KILL_PROCESS : kRefused);
  const Position skipped = program.jump(BPF_JEQ, UINT32_MAX, program.end(kRefused), foreign);
  const Position high = program.jump(BPF_JGE, kX32Bit, skipped, program.end(kUnknown));
  const Position number = program.load(offsetof(seccomp_data, nr), program.jump(BPF_JGE, count, high, tree));
  program.load(offsetof(seccomp_data, arch),
               program.jump(BPF_JEQ, native, number, program.end(SECCOMP_RET_KILL_PROCESS)));
}

}  // namespace

std::vector<sock_filter> make_call_tree(const std::vector<CallAnswer>& answers) {
  ProgramFromItsEnd program;
  std::vector<Calls> ranges = ranges_of(answers);
  write_tested_answers(program, ranges);
  const Position tree = ranges.empty() ? program.end(SECCOMP_RET_ERRNO | ENOSYS)
                                       : write_tree(program, ranges.data(), ranges.data() + ranges.size());
  write_beginning(program, static_cast<uint32_t>(answers.size()), tree);
  return program.full();
}

}  // namespace policies
