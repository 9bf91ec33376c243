#include "jail/init/fixed_filter.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "jail/init/architecture.h"
#include "jail/jail_namespaces.h"
#include "policies/forbidden_calls.h"

namespace jail::init {
namespace {

constexpr uint32_t kX32Bit = 0x40000000;  // __X32_SYSCALL_BIT: the same calls once more
constexpr uint32_t kAllNamespaces = kJailNamespaces | CLONE_NEWCGROUP;
constexpr uint32_t kSocketTypes = 0xf;  // SOCK_TYPE_MASK of the kernel: without SOCK_CLOEXEC and SOCK_NONBLOCK

enum class Answer : uint8_t { missing, refused, building, clone, socket, setsockopt };
struct Rule {
  uint32_t call;
  Answer answer;
};

constexpr auto kRules = [] {
  constexpr size_t kCount = std::size(policies::kForbiddenMissingCalls) + std::size(policies::kForbiddenCalls) +
                            std::size(policies::kJailBuildingCalls) + 3;
  std::array<Rule, kCount> rules{};
  size_t n = 0;
  for (const unsigned call : policies::kForbiddenMissingCalls) rules[n++] = {call, Answer::missing};
  for (const unsigned call : policies::kForbiddenCalls) rules[n++] = {call, Answer::refused};
  for (const unsigned call : policies::kJailBuildingCalls) rules[n++] = {call, Answer::building};
  rules[n++] = {SYS_clone, Answer::clone};
  rules[n++] = {SYS_socket, Answer::socket};
  rules[n++] = {SYS_setsockopt, Answer::setsockopt};
  std::sort(rules.begin(), rules.end(), [](const Rule& a, const Rule& b) { return a.call < b.call; });
  return rules;
}();

// FixedFilter: a program, written from its last instruction to its first: jumps lead forwards only, so the place that a
// jump leads to is known when the jump is written. A place is an index of `code_`. A program that does not fit ends in
// an error of load().
class FixedFilter {
 public:
  // Each returns the place of the new instruction.
  size_t end(uint32_t action) { return write({BPF_RET | BPF_K, 0, 0, action}); }
  size_t jump(uint16_t comparison, uint32_t value, size_t if_true, size_t if_false) {
    return write({static_cast<uint16_t>(BPF_JMP | comparison | BPF_K), distance(if_true), distance(if_false), value});
  }
  // These two go on with the instruction that was written last.
  size_t load(size_t offset) { return write({BPF_LD | BPF_W | BPF_ABS, 0, 0, static_cast<uint32_t>(offset)}); }
  // The low half of an argument: the kernel reads an int, or flags of 32 bits.
  size_t load_argument(unsigned number) { return load(offsetof(seccomp_data, args) + number * sizeof(uint64_t)); }
  size_t mask(uint32_t bits) { return write({BPF_ALU | BPF_AND | BPF_K, 0, 0, bits}); }
  size_t next() const { return first_; }

  int load_into_kernel() {
    if (!fits_) return E2BIG;
    sock_fprog program{static_cast<unsigned short>(kMax - first_), code_ + first_};
    return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0 ? errno : 0;
  }

 private:
  static constexpr size_t kMax = 256;
  size_t write(sock_filter instruction) {
    fits_ = fits_ && first_ > 0;
    if (fits_) code_[--first_] = instruction;
    return first_;
  }
  uint8_t distance(size_t index) {
    const size_t between = index - first_;
    fits_ = fits_ && between <= UINT8_MAX;
    return static_cast<uint8_t>(between);
  }

  sock_filter code_[kMax];
  size_t first_ = kMax;
  bool fits_ = true;
};

enum class FilterTarget : uint8_t { code, home, home_with_nested_users };

// The first instruction of the answer to each kind of call.
struct Answers {
  size_t allowed, missing, refused, building, unshare, clone, socket, setsockopt;

  size_t of(const Rule& rule) const {
    switch (rule.answer) {
      case Answer::missing:
        return missing;
      case Answer::refused:
        return refused;
      case Answer::building:
        return rule.call == SYS_unshare ? unshare : building;
      case Answer::clone:
        return clone;
      case Answer::socket:
        return socket;
      case Answer::setsockopt:
        return setsockopt;
    }
    return refused;
  }
};

// The options of ip_tables, arp_tables and ebtables begin at these numbers; each has two that change tables.
// Source: linux/netfilter_ipv4/ip_tables.h (IPT_BASE_CTL), linux/netfilter_arp/arp_tables.h,
// linux/netfilter_bridge/ebtables.h.
constexpr uint32_t kNetfilterOptions[] = {64, 96, 128};

Answers write_answers(FixedFilter& filter, FilterTarget target) {
  const bool at_home = target != FilterTarget::code;
  Answers to{};
  const size_t no_family = filter.end(SECCOMP_RET_ERRNO | EAFNOSUPPORT);
  to.missing = filter.end(SECCOMP_RET_ERRNO | ENOSYS);
  to.refused = filter.end(SECCOMP_RET_ERRNO | EPERM);
  to.allowed = filter.end(SECCOMP_RET_ALLOW);
  to.building = at_home ? to.allowed : to.refused;

  // A new namespace is made with all others of a jail, or not at all.
  filter.jump(BPF_JEQ, kJailNamespaces, to.building, to.refused);
  filter.jump(BPF_JEQ, 0, to.allowed, filter.next());
  filter.mask(kAllNamespaces);
  to.clone = filter.load_argument(0);

  filter.jump(BPF_JEQ, CLONE_NEWUSER, target == FilterTarget::home_with_nested_users ? to.allowed : to.refused,
              to.refused);
  filter.jump(BPF_JEQ, CLONE_NEWCGROUP, to.building, filter.next());
  to.unshare = filter.load_argument(0);

  for (const uint32_t option : kNetfilterOptions) {
    filter.jump(BPF_JEQ, option, to.refused, option == kNetfilterOptions[0] ? to.allowed : filter.next());
  }
  filter.mask(~uint32_t{1});
  const size_t options = filter.load_argument(2);
  filter.jump(BPF_JEQ, IPPROTO_IPV6, options, to.allowed);
  filter.jump(BPF_JEQ, IPPROTO_IP, options, filter.next());
  to.setsockopt = filter.load_argument(1);

  filter.jump(BPF_JEQ, SOCK_RAW, to.refused, to.allowed);
  filter.mask(kSocketTypes);
  const size_t ip = filter.load_argument(1);
  filter.jump(BPF_JEQ, 0 /* NETLINK_ROUTE */, to.allowed, no_family);
  const size_t netlink = filter.load_argument(2);
  filter.jump(BPF_JEQ, AF_PACKET, to.refused, to.allowed);
  filter.jump(BPF_JEQ, AF_NETLINK, netlink, filter.next());
  filter.jump(BPF_JEQ, AF_INET6, ip, filter.next());
  filter.jump(BPF_JEQ, AF_INET, ip, filter.next());
  to.socket = filter.load_argument(0);
  return to;
}

// A binary tree over the numbers of the calls [from, to).
size_t write_tree(FixedFilter& filter, const Answers& answers, size_t from, size_t to) {
  const size_t middle = (from + to) / 2;
  if (middle == from) return filter.jump(BPF_JEQ, kRules[from].call, answers.of(kRules[from]), answers.allowed);
  const size_t upper = write_tree(filter, answers, middle, to);
  const size_t lower = write_tree(filter, answers, from, middle);
  return filter.jump(BPF_JGE, kRules[middle].call, upper, lower);
}

int load(FilterTarget target) {
  FixedFilter filter;
  const size_t kill = filter.end(SECCOMP_RET_KILL_PROCESS);
  const Answers answers = write_answers(filter, target);
  const size_t tree = write_tree(filter, answers, 0, kRules.size());
  filter.jump(BPF_JGE, kX32Bit, kill, tree);
  filter.load(offsetof(seccomp_data, nr));
  filter.jump(BPF_JEQ, kArchitecture, filter.next(), kill);
  filter.load(offsetof(seccomp_data, arch));
  return filter.load_into_kernel();
}

}  // namespace

int load_filter_for_code() { return load(FilterTarget::code); }

int load_filter_for_home(bool shared_identity) {
  return load(shared_identity ? FilterTarget::home_with_nested_users : FilterTarget::home);
}

}  // namespace jail::init
