// Capabilities by raw system calls: libcap allocates memory, and warder-jail-init has no allocator. Each function
// returns 0 or a positive errno. Source: capabilities(7), capget(2), prctl(2). Used by: jail/init/,
// jail/zygote/fork.cc.
#pragma once
#include <cstdint>

namespace jail::init {

constexpr uint64_t bit_of(int capability) { return uint64_t{1} << capability; }

// Makes permitted, effective and inheritable capabilities those of the mask. A capability that the process does not
// have is an error. 0: none is left.
int set_capabilities(uint64_t mask);
// Drops every capability that is not in the mask from the bounding set.
int limit_bounding_set(uint64_t mask);
// Makes every permitted capability inheritable. A program of user 0 gets the inheritable ones at its exec, even if the
// bounding set is empty by then.
int make_capabilities_inheritable();

}  // namespace jail::init
