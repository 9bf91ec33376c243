// Audit chain: what those who write, sweep and check the audit have in common: rows, hashes, digests.
// Used by: audit.cc, audit_forget.cc, audit_verify.cc, and nobody else.
#pragma once
#include <string>
#include <string_view>

#include "supervisor/journal/audit.h"

namespace journal::chain {

constexpr int kVersion = 1;  // of new entries; 0: as the first release wrote them
constexpr size_t kHashBytes = 32;
constexpr char kForgottenAction[] = "forgotten";

struct Link {
  int64_t number = 0;
  std::string hash;
};
Result<Link> read_last(Database& database);
// The next entry, sealed to the last one. Its number.
Result<int64_t> write_entry(Database& database, const AuditEntry& entry);

// Of a row: number, at_ms, tenant, uid, pid, action, subject, shape, hash or key, version, kind, count, last_ms.
AuditEntry entry_of(const Statement& row);

// Each field with its length before it: no two lists have the same bytes.
void add_field(std::string& bytes, std::string_view field);
void add_field(std::string& bytes, int64_t field);
std::string hash_bytes(std::string_view bytes);
// Errors: none; a version that is not known hashes to nothing that was ever written.
std::string hash_of(int64_t version, const std::string& previous, int64_t number, const AuditEntry& entry);
std::string hexadecimal(std::string_view bytes);

// Digest of a set of rows, whatever their order: the sum of their hashes modulo 2^256. A row that changes costs the
// same however many there are.
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
  std::string hash;  // of the last one
};
std::string row_of(const Gap& gap);
std::string row_of(const AuditVerdict::Share& share);

}  // namespace journal::chain
