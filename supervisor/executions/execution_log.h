// What the log tells of an execution: that it began, how it ended or why it was refused; each with fields, so that
// `journalctl WARDER_EXECUTION_ID=...` is its story. Written after whatever is under way: the answer does not wait for
// it. Source: execute_code.cc.
#pragma once
#include <memory>

#include "supervisor/base/loop.h"
#include "supervisor/base/result.h"
#include "supervisor/executions/execution_registry.h"

namespace executions {

// Kinds of events, for good: MESSAGE_ID= of journald.
inline constexpr char kStartedId[] = "5d0b1c6f0c3e4e0b9a4e6f5c1d2a7e31";
inline constexpr char kEndedId[] = "8e1a4f7b2d9c4c5e8b3f6a0d7c5e2b42";
inline constexpr char kRefusedId[] = "c27f9e0a6b1d4d3fa5e8b4c9d0f13a53";

void log_started(Loop& loop, std::shared_ptr<const ExecutionRecord> execution);
void log_ended(Loop& loop, std::shared_ptr<const ExecutionRecord> execution);
void log_refused(Loop& loop, std::shared_ptr<const ExecutionRecord> execution, const Error& error);

}  // namespace executions
