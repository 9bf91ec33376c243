#include "supervisor/records/journal/audit.h"

#include <fmt/format.h>
#include <sodium.h>

#include "policies/tenant_id.h"
#include "supervisor/base/elapsed_clock.h"
#include "supervisor/base/json/exact_number.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/records/journal/audit_chain.h"

namespace journal {
namespace {

using chain::Link;

constexpr size_t kMaxMembers = 32;  // members named in a shape
constexpr size_t kMaxShape = 8192, kMaxName = 640;
// Entries that a share may add in one window before its repeats are counted by subject, and then by action.
constexpr int64_t kWholeEach = 600, kSubjectsEach = 100;

// audit_ends: number and hash before the first entry, and of the last one.
constexpr char kAuditTables[] = R"(
CREATE TABLE audit(
  number INTEGER PRIMARY KEY,
  at_ms INTEGER NOT NULL, tenant TEXT NOT NULL, uid INTEGER NOT NULL, pid INTEGER NOT NULL,
  action TEXT NOT NULL, subject TEXT NOT NULL, shape TEXT NOT NULL, hash BLOB NOT NULL
);
CREATE TABLE audit_ends(which TEXT PRIMARY KEY, number INTEGER NOT NULL, hash BLOB NOT NULL) WITHOUT ROWID;
INSERT INTO audit_ends VALUES('before', 0, zeroblob(32)), ('last', 0, zeroblob(32));
)";
// audit_shares: the size of each share. `bytes` is the size of an entry in the file, with its indexes and the gap
// beside it, rounded up. Triggers keep the counts right, for any statement that removes a row. Entries that the first
// version removed become the first gap.
constexpr char kAuditShares[] = R"(
ALTER TABLE audit ADD COLUMN version INTEGER NOT NULL DEFAULT 0;
ALTER TABLE audit ADD COLUMN kind INTEGER NOT NULL DEFAULT 0;
ALTER TABLE audit ADD COLUMN count INTEGER NOT NULL DEFAULT 1;
ALTER TABLE audit ADD COLUMN last_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE audit ADD COLUMN account TEXT NOT NULL
  GENERATED ALWAYS AS (substr(tenant, 1, instr(tenant || '/', '/') - 1)) VIRTUAL;
ALTER TABLE audit ADD COLUMN bytes INTEGER NOT NULL
  GENERATED ALWAYS AS (200 + length(CAST(tenant || tenant || action || subject || shape AS BLOB))) VIRTUAL;
UPDATE audit SET kind=2 WHERE action='approval';
UPDATE audit SET kind=1 WHERE action IN ('call', 'nested call') AND shape LIKE '%"verdict":"denied"%';
CREATE INDEX audit_of_share ON audit(account, kind, number);
CREATE TABLE audit_shares(
  account TEXT NOT NULL, kind INTEGER NOT NULL,
  entries INTEGER NOT NULL DEFAULT 0, bytes INTEGER NOT NULL DEFAULT 0,
  window_ms INTEGER NOT NULL DEFAULT 0, window_entries INTEGER NOT NULL DEFAULT 0,
  forgotten INTEGER NOT NULL DEFAULT 0, forgotten_calls INTEGER NOT NULL DEFAULT 0,
  since_ms INTEGER NOT NULL DEFAULT 0, until_ms INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY(account, kind)
) WITHOUT ROWID;
CREATE TABLE audit_sums(kind INTEGER PRIMARY KEY, entries INTEGER NOT NULL, bytes INTEGER NOT NULL);
INSERT INTO audit_shares(account, kind, entries, bytes)
  SELECT account, kind, count(*), sum(bytes) FROM audit GROUP BY account, kind;
INSERT INTO audit_sums VALUES(0, 0, 0), (1, 0, 0), (2, 0, 0), (3, 0, 0);
UPDATE audit_sums SET (entries, bytes) =
  (SELECT coalesce(sum(entries), 0), coalesce(sum(bytes), 0) FROM audit_shares s WHERE s.kind=audit_sums.kind);
CREATE INDEX audit_shares_by_entries ON audit_shares(kind, entries);
CREATE INDEX audit_shares_by_bytes ON audit_shares(kind, bytes);
CREATE TRIGGER audit_came AFTER INSERT ON audit BEGIN
  INSERT INTO audit_shares(account, kind, entries, bytes) VALUES(new.account, new.kind, 1, new.bytes)
    ON CONFLICT DO UPDATE SET entries=entries+1, bytes=bytes+new.bytes;
  UPDATE audit_sums SET entries=entries+1, bytes=bytes+new.bytes WHERE kind=new.kind;
END;
CREATE TRIGGER audit_went AFTER DELETE ON audit BEGIN
  UPDATE audit_shares SET entries=entries-1, bytes=bytes-old.bytes WHERE account=old.account AND kind=old.kind;
  UPDATE audit_sums SET entries=entries-1, bytes=bytes-old.bytes WHERE kind=old.kind;
END;
CREATE TABLE audit_repeats(
  key BLOB PRIMARY KEY, begun_ms INTEGER NOT NULL, count INTEGER NOT NULL,
  first_ms INTEGER NOT NULL, last_ms INTEGER NOT NULL,
  tenant TEXT NOT NULL, uid INTEGER NOT NULL, pid INTEGER NOT NULL,
  action TEXT NOT NULL, subject TEXT NOT NULL, shape TEXT NOT NULL, kind INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX audit_repeats_by_age ON audit_repeats(begun_ms);
CREATE TABLE audit_gaps(first INTEGER PRIMARY KEY, last INTEGER NOT NULL, hash BLOB NOT NULL);
INSERT INTO audit_gaps SELECT 1, number, hash FROM audit_ends WHERE which='before' AND number>0;
CREATE TABLE audit_forgotten(
  one INTEGER PRIMARY KEY CHECK(one=1), entries INTEGER NOT NULL, calls INTEGER NOT NULL,
  since_ms INTEGER NOT NULL, until_ms INTEGER NOT NULL,
  gaps BLOB NOT NULL, shares BLOB NOT NULL, unproven INTEGER NOT NULL, said_by INTEGER NOT NULL
);
INSERT INTO audit_forgotten SELECT 1, number, number, 0, 0, zeroblob(32), zeroblob(32), number, 0
  FROM audit_ends WHERE which='before';
DELETE FROM audit_ends WHERE which='before';
)";

// For audit_entries.h: the entries of one execution. The shape is JSON without spaces, in which a quote within a text
// has a backslash before it, so the key is found at its own place only. Ids have 17 characters (runs/execute.cc). The
// shape is sealed, and the column is computed from it.
constexpr char kAuditExecutions[] = R"(
ALTER TABLE audit ADD COLUMN execution TEXT GENERATED ALWAYS AS (
  CASE WHEN action IN ('call', 'nested call', 'approval', 'question') AND instr(shape, '"execution":"')>0
  THEN substr(shape, instr(shape, '"execution":"') + 13, 17) END) VIRTUAL;
CREATE INDEX audit_of_execution ON audit(execution) WHERE execution IS NOT NULL;
)";

// Entries of the version 2 of the chain are sealed with their principal. It is empty where it is the user `uid`, as in
// all entries before.
constexpr char kAuditPrincipals[] = R"(
ALTER TABLE audit ADD COLUMN principal TEXT NOT NULL DEFAULT '';
ALTER TABLE audit_repeats ADD COLUMN principal TEXT NOT NULL DEFAULT '';
)";

// Not sealed: the entry's age for the sweep, as retention time (base/elapsed_clock.h); 0: by an older version.
constexpr char kAuditAge[] = "ALTER TABLE audit ADD COLUMN recorded_ms INTEGER NOT NULL DEFAULT 0;";

// The fields that repeats share.
enum class Detail { full, subject, action };

// The entry that stands for repeats, with the fields that they share.
AuditEntry common_part(const AuditEntry& entry, Detail detail) {
  AuditEntry common = entry;
  common.shape = entry.same.empty() ? entry.shape : entry.same;
  if (detail == Detail::full) return common;
  common.pid = 0;
  common.shape = R"({"...":"various"})";
  if (detail == Detail::subject) return common;
  common.tenant = account_of(entry);
  common.subject = "*";
  return common;
}

std::string key_of(const AuditEntry& common, Detail detail) {
  std::string bytes;
  for (int64_t value : {static_cast<int64_t>(detail), static_cast<int64_t>(common.kind),
                        static_cast<int64_t>(common.uid), static_cast<int64_t>(common.pid)})
    chain::add_field(bytes, value);
  for (const std::string* text : {&common.tenant, &common.action, &common.subject, &common.shape, &common.principal})
    chain::add_field(bytes, *text);
  return chain::hash_bytes(bytes);
}

// Counts the entry if it is a repeat within its window. False: it is not.
Result<bool> count_repeat(Database& database, const std::string& key, const AuditEntry& entry) {
  TRY(Statement count, database.prepare("UPDATE audit_repeats SET first_ms=iif(count=0, ?2, first_ms), count=count+?3, "
                                        "last_ms=max(last_ms, ?4) WHERE key=?1 AND begun_ms<=?2 AND begun_ms>?2-?5"));
  count.bind_blob(key).bind(entry.at_ms).bind(entry.count).bind(std::max(entry.at_ms, entry.last_ms));
  CHECKED(count.bind(kRepeatWindowMs).run());
  return database.changed_rows() > 0;
}

constexpr char kRepeatOfKey[] =
    "SELECT 0, first_ms, tenant, uid, pid, action, subject, shape, key, 0, kind, count, last_ms, principal FROM "
    "audit_repeats "
    "WHERE key=?";
constexpr char kOldRepeats[] =
    "SELECT 0, first_ms, tenant, uid, pid, action, subject, shape, key, 0, kind, count, last_ms, principal FROM "
    "audit_repeats "
    "WHERE begun_ms<=? ORDER BY begun_ms LIMIT ?";

Result<> end_repeat(Database& database, const std::string& key, const AuditEntry& entry) {
  if (entry.count > 0) CHECKED(chain::write_entry(database, entry));
  TRY(Statement remove, database.prepare("DELETE FROM audit_repeats WHERE key=?"));
  return remove.bind_blob(key).run();
}

// Writes the entry for repeats of that key from an earlier window, if there are any.
Result<> end_earlier_repeat(Database& database, const std::string& key) {
  std::optional<AuditEntry> earlier;
  {
    TRY(Statement statement, database.prepare(kRepeatOfKey));
    TRY(bool row, statement.bind_blob(key).step());
    if (row) earlier = chain::entry_of(statement);
  }
  return earlier ? end_repeat(database, key, *earlier) : Result<>();
}

// Begins a window in which repeats are counted.
Result<> begin_repeats(Database& database, const std::string& key, const AuditEntry& common) {
  TRY(Statement insert, database.prepare("INSERT INTO audit_repeats VALUES(?1,?2,0,?2,?2,?3,?4,?5,?6,?7,?8,?9,?10)"));
  insert.bind_blob(key).bind(common.at_ms).bind(common.tenant).bind(static_cast<int64_t>(common.uid));
  insert.bind(static_cast<int64_t>(common.pid)).bind(common.action).bind(common.subject).bind(common.shape);
  return insert.bind(static_cast<int64_t>(common.kind)).bind(common.principal).run();
}

// Number of entries that the share has added in the window around `at_ms`.
Result<int64_t> added_in_window(Database& database, const std::string& account, AuditKind kind, int64_t at_ms) {
  TRY(Statement statement, database.prepare("SELECT window_ms, window_entries FROM audit_shares WHERE account=? AND "
                                            "kind=?"));
  TRY(bool row, statement.bind(account).bind(static_cast<int64_t>(kind)).step());
  const bool within = row && statement.integer(0) <= at_ms && at_ms - statement.integer(0) < kRepeatWindowMs;
  return within ? statement.integer(1) : 0;
}

Result<> note_added(Database& database, const std::string& account, AuditKind kind, int64_t at_ms, int64_t before) {
  TRY(Statement update, database.prepare("UPDATE audit_shares SET window_ms=iif(?4=0, ?3, window_ms), "
                                         "window_entries=?4+1 WHERE account=?1 AND kind=?2"));
  return update.bind(account).bind(static_cast<int64_t>(kind)).bind(at_ms).bind(before).run();
}

}  // namespace

SchemaPart audit_part() {
  return {"audit", {kAuditTables, kAuditShares, kAuditExecutions, kAuditPrincipals, kAuditAge}};
}

std::string principal_of(const AuditEntry& entry) {
  return entry.principal.empty() ? fmt::format("uid:{}", entry.uid) : entry.principal;
}

std::string account_of(const AuditEntry& entry) {
  auto id = tenants::TenantId::parse(entry.tenant);
  return id ? std::move(id->account) : entry.tenant;
}

void bound_sizes(AuditEntry& entry) {
  for (std::string* name : {&entry.tenant, &entry.action, &entry.subject, &entry.principal})
    if (name->size() > kMaxName) name->resize(whole_utf8_prefix(std::string_view(*name).substr(0, kMaxName)));
  for (std::string* text : {&entry.shape, &entry.same})
    if (text->size() > kMaxShape) *text = fmt::format(R"({{"...":{}}})", text->size());
}

std::string shape_of(const Json& arguments) {
  Json shape = Json::object();
  if (!arguments.is_object()) return dump_json(shape);
  size_t seen = 0;
  for (const auto& [name, value] : arguments.items()) {
    if (shape.size() == kMaxMembers) break;
    seen++;
    std::string type = is_exact_number(value) ? "number" : value.type_name();
    if (value.is_string()) type += fmt::format("({})", value.get_ref<const std::string&>().size());
    if (value.is_structured()) type += fmt::format("({})", value.size());
    shape[name.substr(0, whole_utf8_prefix(std::string_view(name).substr(0, 64)))] = std::move(type);
  }
  if (const size_t more = arguments.size() - seen; more > 0) shape["..."] = more;
  return dump_json(shape);
}

Result<> append_audit(Database& database, const AuditEntry& entry) {
  const std::string account = account_of(entry);
  TRY(const int64_t added, added_in_window(database, account, entry.kind, entry.at_ms));
  const bool whole_full = added >= kWholeEach, subjects_full = added >= kWholeEach + kSubjectsEach;
  const Detail least = subjects_full ? Detail::action : whole_full ? Detail::subject : Detail::full;
  AuditEntry common;
  std::string key;
  for (int detail = 0; detail <= static_cast<int>(least); detail++) {
    common = common_part(entry, static_cast<Detail>(detail));
    key = key_of(common, static_cast<Detail>(detail));
    // Each approval is a person's decision, so it gets its own entry while there is room.
    if (entry.kind == AuditKind::approval && !whole_full) break;
    TRY(const bool counted, count_repeat(database, key, entry));
    if (counted) return {};
  }
  const bool alone = entry.kind == AuditKind::approval && !whole_full;
  if (!alone) CHECKED(end_earlier_repeat(database, key));
  CHECKED(chain::write_entry(database, entry));
  CHECKED(note_added(database, account, entry.kind, entry.at_ms, added));
  if (alone) return {};
  return begin_repeats(database, key, common);
}

Result<uint64_t> seal_repeats(Database& database, int64_t now_ms, uint64_t at_once) {
  std::vector<std::pair<std::string, AuditEntry>> old;
  {
    TRY(Statement rows, database.prepare(kOldRepeats));
    rows.bind(now_ms == INT64_MAX ? now_ms : now_ms - kRepeatWindowMs).bind(static_cast<int64_t>(at_once));
    for (;;) {
      TRY(bool row, rows.step());
      if (!row) break;
      old.emplace_back(rows.blob(8), chain::entry_of(rows));
    }
  }
  for (const auto& [key, reported] : old) CHECKED(end_repeat(database, key, reported));
  return old.size();
}

Result<AuditHead> read_head(Database& database) {
  TRY(const Link last, chain::read_last(database));
  return AuditHead{last.number, chain::hexadecimal(last.hash)};
}

}  // namespace journal

namespace journal::chain {

AuditEntry entry_of(const Statement& row) {
  AuditEntry entry{row.integer(1),
                   row.text(2),
                   static_cast<uint32_t>(row.integer(3)),
                   static_cast<int32_t>(row.integer(4)),
                   row.text(5),
                   row.text(6),
                   row.text(7)};
  entry.kind = static_cast<AuditKind>(row.integer(10));
  entry.count = row.integer(11);
  entry.last_ms = row.integer(12);
  entry.principal = row.text(13);
  return entry;
}

Result<Link> read_last(Database& database) {
  TRY(Statement statement, database.prepare("SELECT number, hash FROM audit_ends WHERE which='last'"));
  TRY(bool row, statement.step());
  if (!row) return fail(Code::internal, "the audit chain has lost its end");
  return Link{statement.integer(0), statement.blob(1)};
}

Result<int64_t> write_entry(Database& database, const AuditEntry& entry) {
  TRY(const Link last, read_last(database));
  const Link next{last.number + 1, hash_of(kVersion, last.hash, last.number + 1, entry)};
  TRY(Statement insert, database.prepare("INSERT INTO audit(number, at_ms, tenant, uid, pid, action, subject, shape, "
                                         "hash, version, kind, count, last_ms, principal, recorded_ms) "
                                         "VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"));
  insert.bind(next.number).bind(entry.at_ms).bind(entry.tenant).bind(static_cast<int64_t>(entry.uid));
  insert.bind(static_cast<int64_t>(entry.pid)).bind(entry.action).bind(entry.subject).bind(entry.shape);
  insert.bind_blob(next.hash).bind(kVersion).bind(static_cast<int64_t>(entry.kind)).bind(entry.count);
  CHECKED(insert.bind(entry.last_ms).bind(entry.principal).bind(retention_now_ms()).run());
  TRY(Statement update, database.prepare("UPDATE audit_ends SET number=?, hash=? WHERE which='last'"));
  CHECKED(update.bind(next.number).bind_blob(next.hash).run());
  return next.number;
}

void add_field(std::string& bytes, std::string_view field) {
  bytes += std::to_string(field.size());
  bytes += ':';
  bytes += field;
}
void add_field(std::string& bytes, int64_t field) { add_field(bytes, std::to_string(field)); }

std::string hash_bytes(std::string_view bytes) {
  std::string hash(kHashBytes, '\0');
  crypto_generichash(reinterpret_cast<unsigned char*>(hash.data()), hash.size(),
                     reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), nullptr, 0);
  return hash;
}

// After the hash of its predecessor, an entry of the first release begins with a digit, a later one with a letter.
std::string hash_of(int64_t version, const std::string& previous, int64_t number, const AuditEntry& entry) {
  std::string bytes = previous;
  if (version != 0) bytes += fmt::format("v{}:", version);
  for (int64_t value : {number, entry.at_ms, static_cast<int64_t>(entry.uid), static_cast<int64_t>(entry.pid)})
    add_field(bytes, value);
  for (const std::string* text : {&entry.tenant, &entry.action, &entry.subject, &entry.shape}) add_field(bytes, *text);
  if (version != 0)
    for (int64_t value : {static_cast<int64_t>(entry.kind), entry.count, entry.last_ms}) add_field(bytes, value);
  // An entry of an older version has no principal; one that was written into its row changes the hash.
  if (version >= 2 || !entry.principal.empty()) add_field(bytes, entry.principal);
  return hash_bytes(bytes);
}

std::string hexadecimal(std::string_view bytes) {
  std::string text;
  for (unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

void SetDigest::add(std::string_view row) {
  const std::string hash = hash_bytes(row);
  sodium_add(reinterpret_cast<unsigned char*>(sum_.data()), reinterpret_cast<const unsigned char*>(hash.data()),
             kHashBytes);
}
void SetDigest::remove(std::string_view row) {
  const std::string hash = hash_bytes(row);
  sodium_sub(reinterpret_cast<unsigned char*>(sum_.data()), reinterpret_cast<const unsigned char*>(hash.data()),
             kHashBytes);
}

std::string row_of(const Gap& gap) {
  std::string bytes;
  add_field(bytes, gap.first), add_field(bytes, gap.last), add_field(bytes, gap.hash);
  return bytes;
}
std::string row_of(const AuditVerdict::Share& share) {
  std::string bytes;
  add_field(bytes, share.account);
  for (int64_t value : {static_cast<int64_t>(share.kind), static_cast<int64_t>(share.entries),
                        static_cast<int64_t>(share.calls), share.since_ms, share.until_ms})
    add_field(bytes, value);
  return bytes;
}

}  // namespace journal::chain
