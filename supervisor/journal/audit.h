// Audit: what was asked of the daemon, by whom, one entry after the other, each sealed to the one before it: its hash
// (BLAKE2b, libsodium's generic hash) covers its own fields and the hash of its predecessor. The first hash that counts
// and the last one are kept apart, so that entries missing at either end are found too.
// What it proves: entries that were changed, removed, added or reordered by somebody who does not also write new hashes
// to the end. Against somebody who can rewrite the whole file, compare its head with one that was logged before.
// Entries hold the shape of arguments, types and sizes, never a value.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "supervisor/journal/schema.h"

namespace journal {

Part audit_part();

struct AuditEntry {
  int64_t at_ms = 0;  // since 1970
  std::string tenant;
  uint32_t uid = 0;  // of the peer, as the kernel told it
  int32_t pid = 0;
  std::string action;   // "tools/call"
  std::string subject;  // "execute_code"
  std::string shape;    // {"code":"string(31)","context_vars":"object(2)"}
};
// The types and sizes of an object's members. Names are those of the checked schema; nothing below them is named.
std::string shape_of(const nlohmann::json& arguments);

// On the writer's thread.
Result<> append_audit(Database& database, const AuditEntry& entry);

struct AuditVerdict {
  uint64_t entries = 0;  // that were found good, from the oldest
  std::string head;      // the last good hash, in hexadecimal: what to note down elsewhere
  std::string problem;   // empty: the chain is whole. Else which entry, and what is wrong with it
};
// Reads all of it. Errors: the file cannot be read; a broken chain is a verdict.
Result<AuditVerdict> verify_audit(Database& database);

// The oldest entries beyond `most` or older than `oldest_ms`, at most `at_once`; the chain begins after them then.
Result<uint64_t> forget_audit(Database& database, uint64_t most, int64_t oldest_ms, uint64_t at_once);

}  // namespace journal
