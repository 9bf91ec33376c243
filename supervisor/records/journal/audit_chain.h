// Audit chain: rows, hashes and digests that writing, sweep and check of the audit share.
// Used by: audit.cc, audit_forget.cc and audit_verify.cc only. Errors: those of Database.
#pragma once
#include <string>
#include <string_view>

#include "supervisor/records/journal/audit.h"

namespace journal::chain {

constexpr int kVersion = 2;  // version of new entries; 0: entries of the first release; 2: with the principal
constexpr size_t kHashBytes = 32;
constexpr char kForgottenAction[] = "forgotten";

struct Link {
  int64_t number = 0;
  std::string hash;
};
Result<Link> read_last(Database& database);
// Writes the next entry, sealed to the last one. Returns its number.
Result<int64_t> write_entry(Database& database, const AuditEntry& entry);

// Reads an entry from the columns number, at_ms, tenant, uid, pid, action, subject, shape, hash or key, version, kind,
// count, last_ms, principal.
AuditEntry entry_of(const Statement& row);

// Adds a field with its length before it, so that different lists never have the same bytes.
void add_field(std::string& bytes, std::string_view field);
void add_field(std::string& bytes, int64_t field);
std::string hash_bytes(std::string_view bytes);
// The hash of an entry. An unknown version gives a hash that no entry has.
std::string hash_of(int64_t version, const std::string& previous, int64_t number, const AuditEntry& entry);
std::string hexadecimal(std::string_view bytes);

// SetDigest: digest of a set of rows in any order: the sum of their hashes modulo 2^256. The cost of a change does not
// depend on the number of rows.
class SetDigest {
 public:
  SetDigest() : sum_(kHashBytes, '\0') {}
  explicit SetDigest(std::string sum) : sum_(std::move(sum)) { sum_.resize(kHashBytes); }
  void add(std::string_view row);
  void remove(std::string_view row);
  const std::string& bytes() const { return sum_; }

 private:
  std::string sum_;
};
struct Gap {
  int64_t first = 0, last = 0;
  std::string hash;  // of the last entry in the gap
};
std::string row_of(const Gap& gap);
std::string row_of(const AuditVerdict::Share& share);

}  // namespace journal::chain
