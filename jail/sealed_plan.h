// The plan (plan.h) in a sealed memfd: its bytes cannot change any more for the jailer, a zygote or the child, so jails
// that are built alike may share it.
// Source: the Spec (jail/jail.h). Used by: jail/jail.cc, jail/zygote.cc.
#pragma once
#include "jail/plan_parts.h"
#include "jail/spec.h"
#include "supervisor/base/fd.h"
#include "supervisor/base/result.h"

namespace jail {

struct Host;

// Errors: invalid, naming the part too long for a plan; internal, a failed system call.
Result<Fd> seal_plan(const Host& host, const Spec& spec, Role role);

}  // namespace jail
