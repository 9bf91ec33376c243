// Check: compares entries, gaps and the "forgotten" entries of the audit chain. The proof that this gives: audit.h.
#include <fmt/format.h>

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/records/journal/audit.h"
#include "supervisor/records/journal/audit_chain.h"

namespace journal {
namespace {

using chain::Gap;
using chain::Link;
using chain::SetDigest;

constexpr char kEntries[] =
    "SELECT number, at_ms, tenant, uid, pid, action, subject, shape, hash, version, kind, count, last_ms, "
    "principal FROM audit ORDER BY number";
// For a file without principals, that this version has not opened for writing.
constexpr char kEntriesOfUsers[] =
    "SELECT number, at_ms, tenant, uid, pid, action, subject, shape, hash, version, kind, count, last_ms, '' "
    "FROM audit ORDER BY number";
constexpr char kGaps[] = "SELECT first, last, hash FROM audit_gaps ORDER BY first";
// For a file of the first version that no later version has opened for writing.
constexpr char kFirstEntries[] =
    "SELECT number, at_ms, tenant, uid, pid, action, subject, shape, hash, 0, 0, 1, 0, '' FROM audit ORDER BY "
    "number";
constexpr char kFirstGap[] = "SELECT 1, number, hash FROM audit_ends WHERE which='before' AND number>0";

class Check {
 public:
  Check(Database& database, int64_t version)
      : database_(database), first_version_(version < 2), has_principals_(version >= 4) {}
  Result<AuditVerdict> run();

 private:
  // False: the check ends here.
  Result<bool> follow_chain();
  Result<bool> cross_gaps(Statement& gaps);
  Result<bool> compare_statement();
  Result<> read_sums();
  bool object(std::string problem) {
    verdict_.problem = std::move(problem);
    return false;
  }

  Database& database_;
  const bool first_version_, has_principals_;  // of the file's tables
  AuditVerdict verdict_;
  Link at_{0, std::string(chain::kHashBytes, '\0')};
  std::optional<Gap> next_gap_;
  uint64_t missing_ = 0;
  SetDigest gaps_, shares_;
  Link statement_;  // number and text of the last "forgotten" entry
};

Result<bool> Check::cross_gaps(Statement& gaps) {
  while (next_gap_ && next_gap_->first <= at_.number + 1) {
    if (next_gap_->first != at_.number + 1 || next_gap_->last < next_gap_->first)
      return object(fmt::format("the recorded gap at entry {} does not exist", next_gap_->first));
    gaps_.add(chain::row_of(*next_gap_));
    missing_ += static_cast<uint64_t>(next_gap_->last - at_.number);
    at_ = {next_gap_->last, next_gap_->hash};
    TRY(bool row, gaps.step());
    next_gap_.reset();
    if (row) next_gap_ = Gap{gaps.integer(0), gaps.integer(1), gaps.blob(2)};
  }
  return true;
}

Result<bool> Check::follow_chain() {
  TRY(const Link last, chain::read_last(database_));
  TRY(Statement gaps, database_.prepare(first_version_ ? kFirstGap : kGaps));
  TRY(bool gap, gaps.step());
  if (gap) next_gap_ = Gap{gaps.integer(0), gaps.integer(1), gaps.blob(2)};
  TRY(Statement rows, database_.prepare(first_version_ ? kFirstEntries : has_principals_ ? kEntries : kEntriesOfUsers));
  for (;;) {
    TRY(bool fits, cross_gaps(gaps));
    if (!fits) return false;
    TRY(bool row, rows.step());
    if (!row) break;
    const int64_t number = rows.integer(0);
    if (number != at_.number + 1) return object(fmt::format("entry {} is missing", at_.number + 1));
    const AuditEntry entry = chain::entry_of(rows);
    std::string hash = chain::hash_of(rows.integer(9), at_.hash, number, entry);
    if (hash != rows.blob(8))
      return object(fmt::format("entry {} was changed, or does not follow entry {}", number, at_.number));
    at_ = {number, std::move(hash)};
    verdict_.entries++;
    if (entry.kind != AuditKind::own) verdict_.calls += static_cast<uint64_t>(std::max<int64_t>(entry.count, 0));
    if (entry.kind == AuditKind::own && entry.action == chain::kForgottenAction) statement_ = {number, entry.shape};
  }
  if (at_.number < last.number) return object(fmt::format("entries {} to {} are missing", at_.number + 1, last.number));
  if (at_.number != last.number || at_.hash != last.hash || next_gap_)
    return object(fmt::format("entry {} is not the last written entry", at_.number));
  return true;
}

Result<> Check::read_sums() {
  {
    TRY(Statement row, database_.prepare("SELECT entries, calls, since_ms, until_ms, unproven FROM audit_forgotten"));
    TRY(bool count, row.step());
    if (!count) return fail(Code::internal, "the audit has lost its sums");
    AuditVerdict::Share& all = verdict_.forgotten;
    all.entries = static_cast<uint64_t>(row.integer(0)), all.calls = static_cast<uint64_t>(row.integer(1));
    all.since_ms = row.integer(2), all.until_ms = row.integer(3);
    verdict_.unproven = static_cast<uint64_t>(row.integer(4));
  }
  TRY(Statement rows,
      database_.prepare("SELECT account, kind, forgotten, forgotten_calls, since_ms, until_ms FROM audit_shares "
                        "WHERE forgotten>0 ORDER BY forgotten DESC"));
  for (;;) {
    TRY(bool row, rows.step());
    if (!row) break;
    const AuditVerdict::Share share{rows.text(0),
                                    static_cast<AuditKind>(rows.integer(1)),
                                    static_cast<uint64_t>(rows.integer(2)),
                                    static_cast<uint64_t>(rows.integer(3)),
                                    rows.integer(4),
                                    rows.integer(5)};
    shares_.add(chain::row_of(share));
    if (share.kind != AuditKind::own && verdict_.shares.size() < kMaxReportedShares) verdict_.shares.push_back(share);
  }
  TRY(const auto unsealed, database_.number("SELECT sum(count) FROM audit_repeats"));
  verdict_.unsealed = static_cast<uint64_t>(unsealed.value_or(0));
  return {};
}

// Whether the missing entries are those that the chain records as forgotten.
Result<bool> Check::compare_statement() {
  if (statement_.number == 0) {
    if (missing_ == verdict_.unproven && verdict_.forgotten.entries == missing_) return true;
    return object(fmt::format("{} entries are missing, and no entry records that they were forgotten", missing_));
  }
  verdict_.said_by = statement_.number;
  const auto message = parse_json(statement_.hash, 3);
  const auto find = [&message](const char* key) -> const Json* {
    if (!message || !message->is_object()) return nullptr;
    const auto it = message->find(key);
    return it == message->end() ? nullptr : &*it;
  };
  const auto text = [&find](const char* key) {
    const Json* found = find(key);
    return found && found->is_string() ? found->get<std::string>() : std::string();
  };
  const Json* count = find("in_all");
  const uint64_t in_all = count && count->is_number_unsigned() ? count->get<uint64_t>() : 0;
  if (missing_ != in_all)
    return object(fmt::format("{} entries are missing, but entry {} records that {} were forgotten", missing_,
                              statement_.number, in_all));
  if (text("gaps") != chain::hexadecimal(gaps_.bytes()))
    return object(
        fmt::format("the missing entries are not those that entry {} records as "
                    "forgotten",
                    statement_.number));
  if (text("shares") != chain::hexadecimal(shares_.bytes()) || verdict_.forgotten.entries != in_all)
    return object(fmt::format("the number of missing entries of each tenant is not the number that entry {} records",
                              statement_.number));
  return true;
}

Result<AuditVerdict> Check::run() {
  TRY(bool good, follow_chain());
  verdict_.head = chain::hexadecimal(at_.hash);
  if (first_version_) {
    verdict_.forgotten.entries = verdict_.unproven = missing_;
    return std::move(verdict_);
  }
  CHECKED(read_sums());
  if (good) CHECKED(compare_statement());
  return std::move(verdict_);
}

}  // namespace

Result<AuditVerdict> verify_audit(Database& database) {
  TRY(const auto version, database.number("SELECT version FROM parts WHERE name='audit'"));
  return Check(database, version.value_or(0)).run();
}

}  // namespace journal
