// Why a jail could not be had, in words for whoever asked for a program: what went wrong, and what to do about it. In
// all of these cases the program did not run. Steps have names for administrators (plan.h); agents read no step that
// they could not know.
#pragma once
#include <chrono>
#include <string_view>

#include "jail/orders.h"
#include "supervisor/base/result.h"

namespace jail {

// A step that jail-init took in vain. `interpreter`: the package to install where there is none; may be empty.
Error failed_step(Step step, int error, std::string_view interpreter = {});
// An order that the jailer, or a zygote, did not carry out.
Error failed_order(const JailerAnswer& answer);
// Somebody killed the jail's init, or the jail as a whole, before the program began.
Error ended_before_program();
// We ended it ourselves, for its init did not come to an end of building it.
Error not_built_within(std::chrono::seconds limit);
// There is no jailer any more, or not the zygote that jails were forked from.
Error jailer_gone();
Error zygote_gone();

}  // namespace jail
