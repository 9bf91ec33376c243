// A system call filter: a binary tree over ranges of call numbers with the same answer, then the tests of arguments.
// The kernel converts and compiles it for every jail, so it is short: the same end of several ways stands once, and
// neighbouring values are compared as a range. Source: seccomp(2), Documentation/networking/filter.rst. Used by:
// seccomp.cc.
#pragma once
#include <linux/filter.h>

#include <cstdint>
#include <vector>

namespace policies {

// ArgumentTest: true if one argument's low 32 bits, masked, equal one of `values`. The kernel reads these arguments as
// int or unsigned int; comparing all 64 bits was a way around filters (CVE-2019-10063).
struct ArgumentTest {
  unsigned argument = 0;  // 0 to 5
  uint32_t mask = ~uint32_t{0};
  std::vector<uint32_t> values;

  bool operator==(const ArgumentTest&) const = default;
};

struct CallAnswer {
  uint32_t action = 0;  // SECCOMP_RET_*, with its data
  // The call is allowed instead, if every test of one of these lists is true.
  std::vector<std::vector<ArgumentTest>> allowed_when;

  bool operator==(const CallAnswer&) const = default;
};

// A filter for this machine's architecture. `answers`: by the number of the call; higher numbers are answered ENOSYS.
// Calls of other architectures, including x32, end the process.
std::vector<sock_filter> make_call_tree(const std::vector<CallAnswer>& answers);

}  // namespace policies
