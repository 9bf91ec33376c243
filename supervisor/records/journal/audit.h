// Audit: the chain of entries about all requests to the daemon: the request and its peer. Each entry is sealed to the
// entry before it: its hash (BLAKE2b, libsodium's generic hash) covers its version, its own fields and the hash of its
// predecessor. The number and hash of the last entry are stored separately, so that entries missing at the end are
// found, too.
//
// Repeats. A call that equals a call of the last minute gets no entry. It is counted, in the transaction that would
// have written its entry. When the minute is over, one entry gives the count, the first and the last time. If a share
// (below) writes more than 600 entries in a minute, its further calls are counted by tool only, then by action only,
// until the minute is over. So a flood of any calls costs some 1,400 entries a minute, and every call is counted.
// Counts of the current minute are not sealed: a change of them within that minute is not found.
//
// Forgetting. Each tenant has a share of each kind of entry: calls, refusals, approvals. While a kind is over its
// limit, the tenant with most entries or bytes of that kind loses its oldest entry. So every tenant keeps at least
// limit/tenants entries, however many other tenants write, and loses no refusals because of its own calls. Entries
// leave from the middle of the chain, too: a gap stores the numbers that left and the hash of the last of them, and the
// next entry is sealed to that hash. Neighbouring gaps are joined, so there are never more gaps than stored entries. In
// the same transaction the sweep adds an entry, "forgotten", with the sums so far and two digests: of all gaps, and of
// the losses of each tenant. The chain proves:
//   - Of stored entries: peer, request and order, also across gaps.
//   - Of forgotten entries: how many, and of which tenant, as the sweep recorded it. Their content is gone.
//   - Any other removal, also one that imitates a gap of the sweep: the digests do not fit.
// The proof holds against an attacker that does not also write new hashes up to the end. Against an attacker that can
// rewrite the whole file, compare it with heads that were logged before (audit_heads.h).
// Entries that the first release removed from the front, before the first "forgotten" entry, are counted but not
// proven.
//
// Entries hold the shape of arguments, types and sizes, never a value.
// Source: journal.h. Used by: record.cc, journal.cc, and the check of `warder audit`. Errors: those of Database.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "supervisor/base/json/json_fwd.h"
#include "supervisor/records/journal/schema.h"

namespace journal {

SchemaPart audit_part();

enum class AuditKind { call, refusal, approval, own };  // own: by the journal itself. The numbers are stored in files.

struct AuditEntry {
  int64_t at_ms = 0;  // since 1970; of several calls: of the first
  std::string tenant;
  uint32_t uid = 0;     // of the peer, from the kernel; -1: it is no process of this machine
  int32_t pid = 0;      // the same
  std::string action;   // "tools/call"
  std::string subject;  // "execute_code"
  std::string shape;    // {"code":"string(31)","context_vars":"object(2)"}
  AuditKind kind = AuditKind::call;
  int64_t count = 1;           // calls that this entry stands for
  int64_t last_ms = 0;         // time of the last of them; 0: there is only one
  std::string same = {};       // the part of `shape` that repeats share (no times); empty: all. Not stored
  std::string principal = {};  // "token:ci"; empty: the user `uid`
};
// "token:ci", or "uid:1000".
std::string principal_of(const AuditEntry& entry);
// The types and sizes of an object's members. Member names are those of the checked schema; deeper names are left out.
std::string shape_of(const Json& arguments);
// The tenant that an entry counts for, without the workspace: "acme" of "acme/reports". A text that is no TenantId
// (policies/tenant_id.h) counts for itself: the journal's own entries have no tenant.
std::string account_of(const AuditEntry& entry);
// Shortens fields so that an entry has at most some 10 kB.
void bound_sizes(AuditEntry& entry);

// All functions below run on the writer's thread.

// Writes an entry, or counts it as a repeat.
Result<> append_audit(Database& database, const AuditEntry& entry);

// Writes the entries of repeats with a minute that ended at `now_ms` (INT64_MAX: of all repeats), at most `at_once`.
// Returns how many repeats ended.
constexpr int64_t kRepeatWindowMs = 60'000;
Result<uint64_t> seal_repeats(Database& database, int64_t now_ms, uint64_t at_once);

// Limits of all kinds together: calls may fill seven tenths, refusals two, approvals one.
struct AuditLimits {
  uint64_t entries = 0;
  uint64_t bytes = 0;     // as the column `bytes` counts them
  int64_t oldest_ms = 0;  // retention time (base/elapsed_clock.h): all older entries are removed
};
// Removes entries beyond the limits, at most `at_once`, and writes the entry that records the removal. Returns how many
// were removed.
Result<uint64_t> forget_audit(Database& database, const AuditLimits& limits, uint64_t at_once);

struct AuditVerdict {
  uint64_t entries = 0;   // good entries, counted from the oldest
  uint64_t calls = 0;     // calls that the good entries stand for
  uint64_t unsealed = 0;  // counted repeats of the last minute
  std::string head;       // the last good hash, in hexadecimal, to be noted elsewhere
  std::string problem;    // empty: the chain is whole. Else the entry and its fault

  struct Share {
    std::string account;  // empty: of all tenants without remaining entries
    AuditKind kind = AuditKind::call;
    uint64_t entries = 0, calls = 0;
    int64_t since_ms = 0, until_ms = 0;
  };
  Share forgotten;            // in all; `account` and `kind` are not set
  std::vector<Share> shares;  // with the largest losses, at most kMaxReportedShares
  uint64_t unproven = 0;      // forgotten entries that the chain does not prove
  int64_t said_by = 0;        // number of the last "forgotten" entry; 0: not found
};
constexpr int kMaxReportedShares = 20;
// The end of the chain: the number of entries that were ever written, and the hash of the last one in hexadecimal.
struct AuditHead {
  int64_t count = 0;
  std::string hash;
  bool operator==(const AuditHead&) const = default;
};
// Not verified: that would read the whole chain. Errors also: internal, the chain has lost its end.
Result<AuditHead> read_head(Database& database);

// Reads the whole audit, also in a file of an older version. Errors: the file cannot be read. A broken chain is no
// error but a verdict.
Result<AuditVerdict> verify_audit(Database& database);

}  // namespace journal
