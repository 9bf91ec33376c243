// Execution log: one line in the log when an execution starts, ends or is refused. Each line has fields, so that
// `journalctl WARDER_EXECUTION_ID=...` shows all lines of one execution. The lines are written in a later turn of the
// loop, so the answer does not wait for them. Used by: execution_recording.cc, execution_registry.cc. No errors.
#pragma once
#include <memory>

#include "supervisor/base/loop.h"
#include "supervisor/base/result.h"
#include "supervisor/executions/execution_registry.h"

namespace executions {

// Kinds of events: MESSAGE_ID= of journald (systemd.journal-fields(7)). They never change.
inline constexpr char kStartedId[] = "5d0b1c6f0c3e4e0b9a4e6f5c1d2a7e31";
inline constexpr char kEndedId[] = "8e1a4f7b2d9c4c5e8b3f6a0d7c5e2b42";
inline constexpr char kRefusedId[] = "c27f9e0a6b1d4d3fa5e8b4c9d0f13a53";

void log_started(Loop& loop, std::shared_ptr<const ExecutionRecord> execution);
void log_ended(Loop& loop, std::shared_ptr<const ExecutionRecord> execution);
void log_refused(Loop& loop, std::shared_ptr<const ExecutionRecord> execution, const Error& error);

}  // namespace executions
