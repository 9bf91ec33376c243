#include "supervisor/records/journal/audit_anchors.h"

#include "supervisor/base/log.h"
#include "supervisor/message_ids.h"
#include "supervisor/records/journal/audit_heads.h"

void log_audit_head(const journal::AuditHead& head) {
  log_fields(LogLevel::notice, kAuditHeadId, journal::head_text(head),
             {{journal::kAuditCountField, std::to_string(head.count)}, {journal::kAuditHeadField, head.hash}});
}

Task<> anchor_audit(journal::Journal& journal) {
  const auto head = co_await journal.head();
  if (!head) co_return log_warning("the head of the audit chain cannot be read: {}", head.error().what);
  log_audit_head(*head);
}

Task<> anchor_audit_hourly(Loop& loop, journal::Journal& journal) {
  for (;;) {
    co_await sleep_for(loop, std::chrono::hours(1));
    co_await anchor_audit(journal);
  }
}
