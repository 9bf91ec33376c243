// Heads of the audit chain that were stored outside of the journal: read from a file, and compared with the chain.
// Used by: audit.cc. Errors: invalid: the file has no heads; those of the file and of Database.
#pragma once
#include <string>
#include <vector>

#include "supervisor/base/json/json_fwd.h"
#include "supervisor/records/journal/audit_heads.h"

namespace admin {

struct StoredHead {
  uint64_t line = 0;  // in the file, from 1
  journal::AuditHead head;
};
// `file`: a path, or "-" for standard input. Equal neighbours count once.
Result<std::vector<StoredHead>> read_heads(const std::string& file);

struct HeadsVerdict {
  uint64_t heads = 0, in_chain = 0, forgotten = 0, lost = 0;
  StoredHead first_lost;  // if `lost` is not 0
  std::string why;        // why first_lost counts as lost
};
// Call it in the transaction of verify_audit().
Result<HeadsVerdict> compare_heads(journal::Database& database, const std::vector<StoredHead>& heads);
Json json_of(const HeadsVerdict& verdict);
std::string text_of(const HeadsVerdict& verdict);

}  // namespace admin
