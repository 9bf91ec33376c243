// Sweep of the audit: chooses the entries that leave, and writes the entry that records the removal. The rules:
// audit.h.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/system_time.h"
#include "supervisor/records/journal/audit.h"
#include "supervisor/records/journal/audit_chain.h"

namespace journal {
namespace {

using chain::Gap;
using chain::SetDigest;
using Share = AuditVerdict::Share;

constexpr AuditKind kKinds[] = {AuditKind::call, AuditKind::refusal, AuditKind::approval, AuditKind::own};
constexpr uint64_t kTenths[] = {7, 2, 1};
constexpr uint64_t kOwnEntries = 1000;  // "forgotten" entries; the newest one has the sums of all
constexpr int64_t kBatch = 256;
constexpr size_t kSharesNamed = 16;  // shares in one "forgotten" entry

struct Going {  // an entry to remove
  int64_t number = 0, at_ms = 0, last_ms = 0, calls = 0, bytes = 0;
  std::string account;
  AuditKind kind = AuditKind::call;
  std::string hash;
  int64_t recorded_ms = 0;  // retention time
};
constexpr char kOldest[] =
    "SELECT number, at_ms, max(at_ms, last_ms), count, bytes, account, kind, hash, "
    "iif(recorded_ms=0, max(at_ms, last_ms), recorded_ms) FROM audit ORDER BY number LIMIT ?";
constexpr char kOldestOfShare[] =
    "SELECT number, at_ms, max(at_ms, last_ms), count, bytes, account, kind, hash, "
    "iif(recorded_ms=0, max(at_ms, last_ms), recorded_ms) FROM audit "
    "WHERE account=? AND kind=? ORDER BY number LIMIT ?";

Result<std::vector<Going>> read_all(Statement& rows) {
  std::vector<Going> match;
  for (;;) {
    TRY(bool row, rows.step());
    if (!row) return match;
    match.push_back({rows.integer(0), rows.integer(1), rows.integer(2), rows.integer(3), rows.integer(4), rows.text(5),
                     static_cast<AuditKind>(rows.integer(6)), rows.blob(7), rows.integer(8)});
  }
}

void add_to(Share& sum, const Going& entry) {
  if (sum.since_ms == 0 || entry.at_ms < sum.since_ms) sum.since_ms = entry.at_ms;
  sum.until_ms = std::max(sum.until_ms, entry.last_ms);
  sum.entries++;
  sum.calls += static_cast<uint64_t>(entry.calls);
}
void add_to(Share& sum, const Share& more) {
  if (more.entries == 0) return;
  if (sum.since_ms == 0 || more.since_ms < sum.since_ms) sum.since_ms = more.since_ms;
  sum.until_ms = std::max(sum.until_ms, more.until_ms);
  sum.entries += more.entries;
  sum.calls += more.calls;
}

// Sweep: one step of the sweep, in one transaction of the writer.
class Sweep {
 public:
  static Result<Sweep> begin(Database& database, uint64_t room) {
    TRY(Statement row, database.prepare("SELECT entries, calls, since_ms, until_ms, gaps, shares, unproven, said_by "
                                        "FROM audit_forgotten"));
    TRY(bool count, row.step());
    if (!count) return fail(Code::internal, "the audit has lost its sums");
    Sweep sweep(database, room);
    Share& sum = sweep.sum_;
    sum.entries = static_cast<uint64_t>(row.integer(0)), sum.calls = static_cast<uint64_t>(row.integer(1));
    sum.since_ms = row.integer(2), sum.until_ms = row.integer(3);
    sweep.gaps_ = SetDigest(row.blob(4)), sweep.shares_ = SetDigest(row.blob(5));
    sweep.unproven_ = row.integer(6), sweep.sender_ = row.integer(7);
    if (sweep.says_first_word()) {  // from now on the gap of the first release is part of the digest
      TRY(auto earlier, sweep.find_gap("SELECT first, last, hash FROM audit_gaps WHERE first=?", 1));
      if (earlier) sweep.gaps_.add(chain::row_of(*earlier));
    }
    return sweep;
  }

  Result<> forget_older_than(int64_t oldest_ms);
  Result<> forget_beyond(AuditKind kind, uint64_t max_entries, uint64_t max_bytes);
  // Records the removed entries in the shares, the sums and the chain.
  Result<uint64_t> finish();

 private:
  Sweep(Database& database, uint64_t room) : database_(&database), room_(room) {}
  bool has_room() const { return removed_.entries < room_; }
  bool says_first_word() const { return sender_ == 0 && unproven_ > 0; }
  Result<> take(const Going& entry);
  Result<> put_into_gap(int64_t number, const std::string& hash);
  Result<std::optional<Gap>> find_gap(const char* sql, int64_t number);
  Result<> remove_gap(const Gap& gap);
  Result<> report_share(const Share& went);
  Result<Share> read_share(const std::string& account, AuditKind kind, int64_t& remaining);
  Result<> write_share(const Share& share);
  Result<int64_t> write_statement();

  Database* database_;
  uint64_t room_;
  Share sum_, removed_;  // of all sweeps, and of this step
  SetDigest gaps_, shares_;
  int64_t unproven_ = 0, sender_ = 0;
  std::map<std::pair<std::string, AuditKind>, Share> of_share_;  // removed in this step
};

Result<std::optional<Gap>> Sweep::find_gap(const char* sql, int64_t number) {
  TRY(Statement statement, database_->prepare(sql));
  TRY(bool row, statement.bind(number).step());
  if (!row) return std::optional<Gap>();
  return std::optional<Gap>(Gap{statement.integer(0), statement.integer(1), statement.blob(2)});
}

Result<> Sweep::remove_gap(const Gap& gap) {
  TRY(Statement remove, database_->prepare("DELETE FROM audit_gaps WHERE first=?"));
  CHECKED(remove.bind(gap.first).run());
  gaps_.remove(chain::row_of(gap));
  return {};
}

// Adds the number to a gap, and joins it with the gaps on both sides.
Result<> Sweep::put_into_gap(int64_t number, const std::string& hash) {
  Gap gap{number, number, hash};
  TRY(auto before,
      find_gap("SELECT first, last, hash FROM audit_gaps WHERE first<? ORDER BY first DESC LIMIT 1", number));
  if (before && before->last == number - 1) {
    gap.first = before->first;
    CHECKED(remove_gap(*before));
  }
  TRY(auto after, find_gap("SELECT first, last, hash FROM audit_gaps WHERE first=?", number + 1));
  if (after) {
    gap.last = after->last, gap.hash = after->hash;
    CHECKED(remove_gap(*after));
  }
  TRY(Statement insert, database_->prepare("INSERT INTO audit_gaps VALUES(?,?,?)"));
  CHECKED(insert.bind(gap.first).bind(gap.last).bind_blob(gap.hash).run());
  gaps_.add(chain::row_of(gap));
  return {};
}

Result<> Sweep::take(const Going& entry) {
  TRY(Statement remove, database_->prepare("DELETE FROM audit WHERE number=?"));
  CHECKED(remove.bind(entry.number).run());
  CHECKED(put_into_gap(entry.number, entry.hash));
  add_to(removed_, entry);
  add_to(of_share_[{entry.account, entry.kind}], entry);
  return {};
}

Result<> Sweep::forget_older_than(int64_t oldest_ms) {
  std::vector<Going> oldest;
  {
    TRY(Statement rows, database_->prepare(kOldest));
    TRY(oldest, read_all(rows.bind(stored(room_))));
  }
  for (const Going& entry : oldest) {
    if (entry.number == sender_) continue;
    if (!has_room() || entry.recorded_ms >= oldest_ms) break;
    CHECKED(take(entry));
  }
  return {};
}

Result<> Sweep::forget_beyond(AuditKind kind, uint64_t max_entries, uint64_t max_bytes) {
  while (has_room()) {
    int64_t entries_over = 0, bytes_over = 0;
    {
      TRY(Statement sums, database_->prepare("SELECT entries, bytes FROM audit_sums WHERE kind=?"));
      TRY(bool row, sums.bind(static_cast<int64_t>(kind)).step());
      if (!row) return fail(Code::internal, "the audit has lost its sums");
      entries_over = sums.integer(0) - stored(max_entries), bytes_over = sums.integer(1) - stored(max_bytes);
    }
    if (entries_over <= 0 && bytes_over <= 0) return {};
    const bool by_bytes = entries_over <= 0;
    // The tenant with most entries loses some, until another tenant has more.
    std::vector<std::pair<std::string, int64_t>> largest;
    {
      TRY(Statement rows, database_->prepare(by_bytes ? "SELECT account, bytes FROM audit_shares WHERE kind=? "
                                                        "ORDER BY bytes DESC LIMIT 2"
                                                      : "SELECT account, entries FROM audit_shares WHERE kind=? "
                                                        "ORDER BY entries DESC LIMIT 2"));
      rows.bind(static_cast<int64_t>(kind));
      for (;;) {
        TRY(bool row, rows.step());
        if (!row) break;
        largest.emplace_back(rows.text(0), rows.integer(1));
      }
    }
    if (largest.empty()) return {};
    std::vector<Going> oldest;
    {
      TRY(Statement rows, database_->prepare(kOldestOfShare));
      rows.bind(largest[0].first).bind(static_cast<int64_t>(kind)).bind(kBatch);
      TRY(oldest, read_all(rows));
    }
    int64_t over = by_bytes ? bytes_over : entries_over, has = largest[0].second;
    const int64_t second = largest.size() > 1 ? largest[1].second : 0;
    const uint64_t before = removed_.entries;
    for (const Going& entry : oldest) {
      if (!has_room() || over <= 0 || has < second) break;
      if (entry.number == sender_) continue;
      CHECKED(take(entry));
      const int64_t size = by_bytes ? entry.bytes : 1;
      over -= size, has -= size;
    }
    if (removed_.entries == before) return {};
  }
  return {};
}

Result<Share> Sweep::read_share(const std::string& account, AuditKind kind, int64_t& remaining) {
  TRY(Statement statement, database_->prepare("SELECT entries, forgotten, forgotten_calls, since_ms, until_ms FROM "
                                              "audit_shares WHERE account=? AND kind=?"));
  TRY(bool row, statement.bind(account).bind(static_cast<int64_t>(kind)).step());
  Share share{account, kind, 0, 0, 0, 0};
  remaining = 0;
  if (!row) return share;
  remaining = statement.integer(0);
  share.entries = static_cast<uint64_t>(statement.integer(1)),
  share.calls = static_cast<uint64_t>(statement.integer(2));
  share.since_ms = statement.integer(3), share.until_ms = statement.integer(4);
  return share;
}

Result<> Sweep::write_share(const Share& share) {
  TRY(Statement write,
      database_->prepare("INSERT INTO audit_shares(account, kind, forgotten, forgotten_calls, since_ms, until_ms) "
                         "VALUES(?1,?2,?3,?4,?5,?6) ON CONFLICT DO UPDATE SET forgotten=?3, forgotten_calls=?4, "
                         "since_ms=?5, until_ms=?6"));
  write.bind(share.account).bind(static_cast<int64_t>(share.kind)).bind(stored(share.entries));
  CHECKED(write.bind(stored(share.calls)).bind(share.since_ms).bind(share.until_ms).run());
  shares_.add(chain::row_of(share));
  return {};
}

// A tenant without remaining entries is added to the row of all these tenants (account ''): the table has no rows of
// tenants without entries.
Result<> Sweep::report_share(const Share& went) {
  int64_t remaining = 0, ignored = 0;
  TRY(Share share, read_share(went.account, went.kind, remaining));
  if (share.entries > 0) shares_.remove(chain::row_of(share));
  add_to(share, went);
  if (remaining > 0 || share.account.empty()) return write_share(share);
  TRY(Statement remove, database_->prepare("DELETE FROM audit_shares WHERE account=? AND kind=?"));
  CHECKED(remove.bind(share.account).bind(static_cast<int64_t>(share.kind)).run());
  TRY(Share peers, read_share({}, share.kind, ignored));
  if (peers.entries > 0) shares_.remove(chain::row_of(peers));
  add_to(peers, share);
  return write_share(peers);
}

const char* name_of(AuditKind kind) {
  constexpr const char* kNames[] = {"calls", "refusals", "approvals", "own"};
  return kNames[static_cast<size_t>(kind)];
}

Result<int64_t> Sweep::write_statement() {
  Json report = {{"entries", removed_.entries},
                 {"calls", removed_.calls},
                 {"since_ms", removed_.since_ms},
                 {"until_ms", removed_.until_ms},
                 {"in_all", sum_.entries},
                 {"unproven", unproven_},
                 {"gaps", chain::hexadecimal(gaps_.bytes())},
                 {"shares", chain::hexadecimal(shares_.bytes())}};
  Json of = Json::object();
  size_t named = 0;
  for (const auto& [share, went] : of_share_) {
    if (++named > kSharesNamed) continue;
    of[fmt::format("{} {}", share.first, name_of(share.second))] = went.entries;
  }
  if (named > kSharesNamed) of["..."] = named - kSharesNamed;
  report["of"] = std::move(of);
  AuditEntry entry;
  entry.at_ms = system_now_ms();
  entry.uid = ::geteuid();
  entry.pid = ::getpid();
  entry.action = chain::kForgottenAction;
  entry.subject = "audit";
  entry.shape = dump_json(report);
  entry.kind = AuditKind::own;
  return chain::write_entry(*database_, entry);
}

Result<uint64_t> Sweep::finish() {
  if (removed_.entries == 0 && !says_first_word()) return 0;
  for (const auto& [of, went] : of_share_) {
    Share share = went;
    share.account = of.first, share.kind = of.second;
    CHECKED(report_share(share));
  }
  add_to(sum_, removed_);
  TRY(sender_, write_statement());
  TRY(Statement update, database_->prepare("UPDATE audit_forgotten SET entries=?, calls=?, since_ms=?, until_ms=?, "
                                           "gaps=?, shares=?, said_by=?"));
  update.bind(stored(sum_.entries)).bind(stored(sum_.calls)).bind(sum_.since_ms).bind(sum_.until_ms);
  CHECKED(update.bind_blob(gaps_.bytes()).bind_blob(shares_.bytes()).bind(sender_).run());
  return removed_.entries;
}

}  // namespace

Result<uint64_t> forget_audit(Database& database, const AuditLimits& limits, uint64_t at_once) {
  TRY(Sweep sweep, Sweep::begin(database, at_once));
  CHECKED(sweep.forget_older_than(limits.oldest_ms));
  for (AuditKind kind : kKinds) {
    const auto number = static_cast<size_t>(kind);
    const bool own = kind == AuditKind::own;
    CHECKED(sweep.forget_beyond(kind, own ? kOwnEntries : limits.entries / 10 * kTenths[number],
                                own ? UINT64_MAX : limits.bytes / 10 * kTenths[number]));
  }
  return sweep.finish();
}

}  // namespace journal
