// The beginning of a system call filter: it decides by the number of the call. A binary tree over ranges of numbers
// with the same answer is a third of what libseccomp makes of single numbers, and the kernel compiles it for every
// jail. Source: seccomp(2), Documentation/networking/filter.rst. Used by: seccomp.cc.
#pragma once
#include <linux/filter.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace policies {

struct CallAnswer {
  uint32_t action = 0;            // SECCOMP_RET_*, with its data
  std::optional<size_t> program;  // instead of the action, this program decides

  bool operator==(const CallAnswer&) const = default;
};

// A filter for this machine's architecture. `answers`: by the number of the call; higher numbers are answered ENOSYS.
// Calls of other architectures, including x32, end the process. `programs`: complete filters, which follow the tree.
std::vector<sock_filter> make_call_tree(const std::vector<CallAnswer>& answers,
                                        const std::vector<std::vector<sock_filter>>& programs);

}  // namespace policies
