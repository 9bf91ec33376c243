// Step calls: the calls of jailed code about the steps of its workflows. Source: warder.workflow(...).step(...) in the
// guest's Python and JavaScript. Used by: part.cc. Errors: those of workflow_store.h and of the
// workspace's quota; denied, in an execution with a staged workspace.
#pragma once
#include "supervisor/tools/workflows/workflow_store.h"
#include "supervisor/upstream/calls/guest_calls.h"

namespace tools {

// The store must outlive all calls. A program's first step_begin holds the workflow until the execution ends.
// step_begin {workflow, step, position} -> {state: "run"} | {state: "finished", value} | {state: "failed", message},
// each
//   with `recorded`, the number of steps, and `run`, the begin of all keys; `value` is JSON text. Needed before the
//   first step, before a position that is recorded, and before a step calls tools
// step_retry {workflow} -> {}
// step_value {workflow, part} -> {}: the next part of a long value, whose last part is in step_end
// step_end {workflow, step, position, attempts, value | failure} -> {}, when it is recorded
void add_step_calls(calls::GuestCalls& calls, workflows::WorkflowStore& store);

}  // namespace tools
