// HostCapacity: numbers of the machine that a policy's document may refer to.
// Source: here(), at the start of a program. Used by: policy.h, store.h. No errors.
#pragma once

namespace policies {

struct HostCapacity {
  double cpus = 1;  // "host" as a number of CPUs
  static HostCapacity here();
};

}  // namespace policies
