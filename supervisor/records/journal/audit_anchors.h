// Audit anchors: heads of the audit chain in the log, outside of the journal's file. `warder audit verify --against`
// compares the chain with them. Source: the journal. Used by: part.cc, at the start, each hour and at the end. No
// errors: a head that cannot be read is logged as a warning.
#pragma once
#include "supervisor/base/loop.h"
#include "supervisor/records/journal/journal.h"

void log_audit_head(const journal::AuditHead& head);
// Reads the head and logs it. The journal must outlive the task.
Task<> anchor_audit(journal::Journal& journal);
// Calls anchor_audit() each hour. Never returns. Both references must outlive the task.
Task<> anchor_audit_hourly(Loop& loop, journal::Journal& journal);
