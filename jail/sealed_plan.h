// A plan (plan.h) as a sealed memfd: what the jailer, a zygote and the child see cannot change any more, so jails that
// are built alike may share one.
#pragma once
#include "jail/jail.h"
#include "jail/plan.h"

namespace jail {

// Errors: invalid, naming what is too long for a plan; internal, what the kernel said.
Result<Fd> seal_plan(const Host& host, const Spec& spec, Role role);

}  // namespace jail
