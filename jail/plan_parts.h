// The parts of a plan (plan.h) that the daemon and the jailer also use for themselves: the kinds of jails, and limits.
// Plain data, no errors.
#pragma once
#include <cstdint>

namespace jail {

// How the ids inside a jail relate to host ids.
enum class Identity : uint32_t {
  separated,  // init and runner are different host ids, neither the daemon's: uid_map "0 A 1", "1000 B 1"
  shared,     // one host id (rootless): uid_map "0 U 1", the runner in a nested namespace "1000 0 1"
};
enum class RootMode : uint32_t {
  overlay,  // an overlayfs instance of this jail's own: locks and watches of its files reach no other jail
  bind,     // read-only bind mounts, where the kernel cannot mount overlayfs in a user namespace
};

// What the new process 1 builds in its namespaces.
enum class Role : uint32_t {
  jail,    // a whole jail; it forks and execs the runner
  forked,  // a whole jail, whose runner is a fork of a zygote and waits on kStartFd
  zygote,  // the home of a zygote: a small root, power over its own namespaces only, from which jails are forked
};

struct ResourceLimit {
  uint32_t resource;  // RLIMIT_*
  uint32_t reserved;
  uint64_t soft, hard;
};

}  // namespace jail
