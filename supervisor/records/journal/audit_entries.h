// Audit entries: reads entries of the audit chain, in their order or newest first, by tenant, kind and time, and those
// that belong to one execution. audit_verify.cc checks the chain; this file only reads it.
// Used by: history.cc, supervisor/programs/cli/admin/audit_entries.cc. Errors: unavailable: an older version of Warder
// wrote the file; those of Database.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/json/json_fwd.h"
#include "supervisor/records/journal/audit.h"

namespace journal {

struct ChainEntry {
  int64_t number = 0;  // in the chain, from 1
  int64_t version = 0;
  std::string hash;  // 32 bytes
  AuditEntry entry;
};

struct AuditFilter {
  std::string account = {};                             // tenant, with all its workspaces; empty: all
  std::optional<AuditKind> kind = {};                   // nullopt: all
  std::optional<int64_t> since_ms = {}, until_ms = {};  // since 1970; an entry of repeats fits if one of its calls does
  int64_t after = 0;                                    // only entries with a greater number
};
enum class EntryOrder { oldest_first, newest_first };

// Calls `take` for each entry that fits, until it returns false. Reads rows one by one, and holds none.
Result<> each_entry(Database& database, const AuditFilter& filter, EntryOrder order,
                    const std::function<bool(const ChainEntry&)>& take);

// The entries that name the execution, oldest first: at most `most`, and at most `bytes` of their texts. `has_more`
// says whether entries were left out.
Result<std::vector<ChainEntry>> entries_of_execution(Database& database, const std::string& id, size_t max,
                                                     size_t bytes, bool& has_more);

// "call", "refusal", "approval", "own".
std::string_view kind_name(AuditKind kind);
std::optional<AuditKind> parse_kind(std::string_view name);
// "2026-11-24T22:30:01.250Z"; "-" for a time that is out of range.
std::string utc_time(int64_t ms);

// {number, hash, version, time, last_time, tenant, principal, uid, pid, kind, action, subject, count, details}. These
// keys stay: programs of other makers read them. uid and pid are null where the principal is no process of this
// machine. `details` is the entry's shape, as an object; last_time is the time of the last of `count` calls.
Json to_json(const ChainEntry& entry);

}  // namespace journal
