// Plan: all facts that the inside of a jail needs while it is built, as plain data in a sealed memfd.
// Source: jail/sealed_plan.cc, complete and checked. Used by: jail/init/, step by step, in the order of Step.
// It crosses a privilege boundary and an exec: no pointers, no owners, no virtuals.
// Errors: a plan with another version or size fails the step read_plan, and the jail is not built.
#pragma once
#include <linux/filter.h>

#include <cstdint>
#include <type_traits>

#include "jail/plan_parts.h"

namespace jail {

// Descriptors of jail-init. The runner keeps 0 to 3 only.
constexpr int kGuestFd = 3;       // SOCK_SEQPACKET to the daemon: the guest protocol
constexpr int kControlFd = 4;     // SOCK_SEQPACKET to the daemon: InitReport
constexpr int kPlanFd = 5;        // sealed memfd: Plan
constexpr int kStartFd = 6;       // forked: the runner waits for a byte here, until the root is built
constexpr int kForkedRunner = 2;  // forked: the runner's pid, the first after init's

// Ids inside the jail.
constexpr uint32_t kInitId = 0;
constexpr uint32_t kRunnerId = 1000;

constexpr uint32_t kPlanVersion = 7;
constexpr int kMaxResourceLimits = 16;
constexpr int kMaxArguments = 64;
constexpr int kMaxEnvironment = 64;
constexpr int kMaxStrings = 16 * 1024;
constexpr int kMaxFilter = 4096;  // BPF_MAXINSNS
constexpr int kMaxLayers = 8;     // package layers of one jail

// The hash of a package layer's manifest. Init makes the name of the layer's folder from it, so a plan holds no path.
struct LayerHash {
  uint8_t bytes[32];
};

struct Plan {
  uint32_t version;
  Role role;
  Identity identity;
  RootMode root;
  uint32_t landlock_required;   // 0: if the kernel has no Landlock, continue without it and report that
  uint32_t memory_uncounted;    // no cgroup counts memory: /dev/zero cannot be mapped, TCP buffers stay small
  uint32_t shows_network;       // the self-test: init sends InitEvent::network
  uint32_t shown_processors;    // in /proc/cpuinfo and /proc/stat
  uint64_t shown_memory_bytes;  // in /proc/meminfo
  uint64_t tmp_bytes;           // each of /tmp, /home/agent and /dev/shm
  uint32_t tmp_files;           // inodes of each
  uint32_t resource_limit_count;
  ResourceLimit resource_limits[kMaxResourceLimits];
  uint32_t seccomp_flags;  // SECCOMP_FILTER_FLAG_LOG for audit profiles
  uint32_t filter_length;
  sock_filter filter[kMaxFilter];
  uint32_t argument_count, environment_count;
  uint32_t arguments[kMaxArguments];      // offsets into strings
  uint32_t environment[kMaxEnvironment];  // offsets into strings
  char strings[kMaxStrings];              // NUL-terminated, one after the other
  uint32_t layer_count, layers_reserved;
  LayerHash layers[kMaxLayers];  // in the order of their precedence, each once
};
static_assert(std::is_trivially_copyable_v<Plan> && std::is_standard_layout_v<Plan>);

}  // namespace jail
