// Audit: what was asked of the daemon, by whom, one entry after the other, each sealed to the one before it: its hash
// (BLAKE2b, libsodium's generic hash) covers its version, its own fields and the hash of its predecessor. The number
// and hash of the last entry are kept apart, so that entries missing at the end are found too.
//
// Repeats. A call that is the same as one within the last minute gets no entry: it is counted, in the transaction that
// would have written its entry, and one entry tells the count, the first and the last time when the minute is over. A
// share (below) that writes more than 600 entries a minute is told by tool only, then by action only, until the minute
// is over. So a flood costs some 1,400 entries a minute, whatever varies in it, and no call is left uncounted. Counts
// of the current minute are not sealed: who changes them within that minute is not found.
//
// Forgetting. Each tenant has a share of each kind of entry: calls, refusals, approvals. While a kind is over its
// limit, whichever tenant has most of it loses its oldest entry. So no tenant is taken below limit/tenants, whatever
// others do, and no tenant loses refusals to its own calls. Entries leave from the middle of the chain then: a gap
// keeps the numbers that left and the hash of the last of them, to which the next entry is sealed. Neighbours are
// joined, so there is never more than one gap for each entry that is kept. In the same transaction the sweep adds an
// entry, "forgotten", that has the sums so far and two digests: of all gaps, and of what each tenant has lost. What it
// proves:
//   - Entries that are kept: who asked what, in which order; also over gaps.
//   - Entries that are forgotten: how many, and of whom, as the sweep said when it was done. What was in them is gone.
//   - A removal by anything but the sweep, also one that makes a gap look like the sweep's: the digests do not fit.
// All of this against somebody who does not also write new hashes to the end. Against somebody who can rewrite the
// whole file, compare its head with one that was logged before (at each start the daemon logs it). What a version of
// this program before the first "forgotten" entry removed from the front is not proven; it is told.
//
// Entries hold the shape of arguments, types and sizes, never a value.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "supervisor/base/json_fwd.h"
#include "supervisor/journal/schema.h"

namespace journal {

Part audit_part();

enum class AuditKind { call, refusal, approval, own };  // own: written by the journal itself. Kept in files.

struct AuditEntry {
  int64_t at_ms = 0;  // since 1970; of several calls the first one's
  std::string tenant;
  uint32_t uid = 0;  // of the peer, as the kernel told it
  int32_t pid = 0;
  std::string action;   // "tools/call"
  std::string subject;  // "execute_code"
  std::string shape;    // {"code":"string(31)","context_vars":"object(2)"}
  AuditKind kind = AuditKind::call;
  int64_t count = 1;    // calls that it tells of
  int64_t last_ms = 0;  // of the last of them; 0: of one alone
  std::string same;     // the part of `shape` by which repeats are known (no times); empty: all of it. Not kept
};
// The types and sizes of an object's members. Names are those of the checked schema; nothing below them is named.
std::string shape_of(const Json& arguments);
// The tenant that an entry counts for, whatever its workspace: "acme" of "acme/reports".
std::string account_of(const AuditEntry& entry);
// Cuts what would make an entry longer than some 9 kB.
void bound_sizes(AuditEntry& entry);

// The rest is for the writer's thread.

// A new entry, or one more of a repeat that is counted already.
Result<> append_audit(Database& database, const AuditEntry& entry);

// Entries for repeats whose minute is over at `now_ms` (INT64_MAX: for all), at most `at_once`. How many were looked
// at.
constexpr int64_t kRepeatWindowMs = 60'000;
Result<uint64_t> seal_repeats(Database& database, int64_t now_ms, uint64_t at_once);

// Of all kinds together: calls may fill seven tenths, refusals two, approvals one.
struct AuditLimits {
  uint64_t entries = 0;
  uint64_t bytes = 0;     // as told by entry_bytes
  int64_t oldest_ms = 0;  // entries before that go, whatever else
};
// Removes what is beyond the limits, at most `at_once` entries, and writes the entry that says so. How many went.
Result<uint64_t> forget_audit(Database& database, const AuditLimits& limits, uint64_t at_once);

struct AuditVerdict {
  uint64_t entries = 0;   // that were found good, from the oldest
  uint64_t calls = 0;     // that those tell of
  uint64_t unsealed = 0;  // repeats of the last minute
  std::string head;       // the last good hash, in hexadecimal: what to note down elsewhere
  std::string problem;    // empty: the chain is whole. Else which entry, and what is wrong with it

  struct Share {
    std::string account;  // empty: of tenants of which nothing is left
    AuditKind kind = AuditKind::call;
    uint64_t entries = 0, calls = 0;
    int64_t since_ms = 0, until_ms = 0;
  };
  Share forgotten;            // in all; `account` and `kind` say nothing
  std::vector<Share> shares;  // those who lost most, at most kSharesTold
  uint64_t unproven = 0;      // of the forgotten ones: no entry of the chain says so
  int64_t said_by = 0;        // number of the entry that does; 0: none
};
constexpr int kSharesTold = 20;
// Reads all of it, also a file that an older version wrote. Errors: the file cannot be read; a broken chain is a
// verdict.
Result<AuditVerdict> verify_audit(Database& database);

}  // namespace journal
