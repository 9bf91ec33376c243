// Errors that say why there is no jail for a program: the cause and the remedy, in words for the client that asked for
// a program. In all of these cases the program did not run. The names of steps (init_report.h) are for administrators;
// agents see a step's name only in the error of a failed step. Error::step names the failed step for the daemon itself.
// Used by: jail/execution/running_execution.cc, jail/jail.cc, jail/jailer_client/jailer_client.cc,
// jail/execution/self_test.cc.
#pragma once
#include <chrono>
#include <string_view>

#include "jail/orders.h"
#include "supervisor/base/result.h"

namespace jail {

// A step of jail-init that failed. `interpreter`: the package to install where the interpreter is missing; may be
// empty.
Error failed_step(Step step, int error, std::string_view interpreter = {});
// An order that the jailer, or a zygote, did not carry out.
Error failed_order(const JailerAnswer& answer);
// A process outside killed the jail's init, or the whole jail, before the program began.
Error ended_before_program();
// The daemon ended the jail, because init did not finish building it in time.
Error not_built_within(std::chrono::seconds limit);
// The jailer has ended, or the zygote that jails were forked from.
Error jailer_exited();
Error zygote_exited();

}  // namespace jail
