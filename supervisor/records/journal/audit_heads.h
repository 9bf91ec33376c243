// Audit heads: ends of the audit chain that were written down outside of the journal, so that a chain that was cut off,
// restarted or rewritten is found. The daemon logs a head at its start, each hour and at its end.
// Used by: supervisor/records/journal/audit_anchors.cc, which writes heads, and `warder audit verify --against`, which
// reads them. Errors: those of Database.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "supervisor/records/journal/audit.h"

namespace journal {

// Fields of the log line in systemd's journal.
inline constexpr char kAuditCountField[] = "WARDER_AUDIT_COUNT", kAuditHeadField[] = "WARDER_AUDIT_HEAD";

// "audit chain: 12 entries, head 0af3...", with 64 hexadecimal digits.
std::string head_text(const AuditHead& head);

// The head in a line of text that contains head_text(), or in a JSON object with the two fields (`journalctl -o json`)
// or with "count" and "head" (`warder audit head --json`). nullopt: the line has no head. Texts of JSON objects are not
// searched: agents can write some texts.
std::optional<AuditHead> parse_head(std::string_view line);

enum class HeadStanding {
  in_chain,   // the chain has this entry with this hash
  forgotten,  // the entry was removed for its age or size, within a gap: its hash cannot be compared
  missing,    // the chain ends before this entry
  changed,    // the entry of this number has another hash
};
// Call verify_audit() first, in the same transaction: only a whole chain proves its gaps.
Result<HeadStanding> find_head(Database& database, const AuditHead& head);

}  // namespace journal
