#include "supervisor/journal/audit.h"

#include <fmt/format.h>
#include <sodium.h>

#include <nlohmann/json.hpp>

#include "supervisor/base/json.h"

namespace journal {
namespace {

constexpr size_t kHashBytes = 32;
constexpr size_t kMostMembers = 32;  // named in a shape

// ends: number and hash before the first entry and of the last one.
constexpr char kTables[] = R"(
CREATE TABLE audit(
  number INTEGER PRIMARY KEY,
  at_ms INTEGER NOT NULL, tenant TEXT NOT NULL, uid INTEGER NOT NULL, pid INTEGER NOT NULL,
  action TEXT NOT NULL, subject TEXT NOT NULL, shape TEXT NOT NULL, hash BLOB NOT NULL
);
CREATE TABLE audit_ends(which TEXT PRIMARY KEY, number INTEGER NOT NULL, hash BLOB NOT NULL) WITHOUT ROWID;
INSERT INTO audit_ends VALUES('before', 0, zeroblob(32)), ('last', 0, zeroblob(32));
)";

struct End {
  int64_t number = 0;
  std::string hash;
};

Result<End> read_end(Database& database, std::string_view which) {
  TRY(Statement found, database.prepare("SELECT number, hash FROM audit_ends WHERE which=?"));
  TRY(bool row, found.bind(which).step());
  if (!row) return fail(Code::internal, "the audit chain has lost its ends");
  return End{found.integer(0), found.blob(1)};
}

Result<> write_end(Database& database, std::string_view which, const End& end) {
  TRY(Statement update, database.prepare("UPDATE audit_ends SET number=?2, hash=?3 WHERE which=?1"));
  return update.bind(which).bind(end.number).bind_blob(end.hash).run();
}

// Every field with its length before it: no two entries have the same bytes.
std::string hash_of(const std::string& previous, int64_t number, const AuditEntry& entry) {
  std::string bytes = previous;
  auto add = [&bytes](std::string_view field) {
    bytes += std::to_string(field.size());
    bytes += ':';
    bytes += field;
  };
  for (int64_t value : {number, entry.at_ms, static_cast<int64_t>(entry.uid), static_cast<int64_t>(entry.pid)})
    add(std::to_string(value));
  for (const std::string* text : {&entry.tenant, &entry.action, &entry.subject, &entry.shape}) add(*text);
  std::string hash(kHashBytes, '\0');
  crypto_generichash(reinterpret_cast<unsigned char*>(hash.data()), hash.size(),
                     reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), nullptr, 0);
  return hash;
}

std::string hexadecimal(const std::string& bytes) {
  std::string text;
  for (unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace

Part audit_part() { return {"audit", {kTables}}; }

std::string shape_of(const nlohmann::json& arguments) {
  nlohmann::ordered_json shape = nlohmann::ordered_json::object();
  if (!arguments.is_object()) return dump_json(shape);
  size_t more = 0;
  for (const auto& [name, value] : arguments.items()) {
    if (shape.size() == kMostMembers) {
      more++;
      continue;
    }
    std::string type = value.type_name();
    if (value.is_string()) type += fmt::format("({})", value.get_ref<const std::string&>().size());
    if (value.is_structured()) type += fmt::format("({})", value.size());
    shape[name.substr(0, whole_utf8_prefix(std::string_view(name).substr(0, 64)))] = std::move(type);
  }
  if (more > 0) shape["..."] = more;
  return dump_json(shape);
}

Result<> append_audit(Database& database, const AuditEntry& entry) {
  TRY(End last, read_end(database, "last"));
  End next{last.number + 1, hash_of(last.hash, last.number + 1, entry)};
  TRY(Statement insert, database.prepare("INSERT INTO audit VALUES(?,?,?,?,?,?,?,?,?)"));
  insert.bind(next.number).bind(entry.at_ms).bind(entry.tenant).bind(static_cast<int64_t>(entry.uid));
  insert.bind(static_cast<int64_t>(entry.pid)).bind(entry.action).bind(entry.subject).bind(entry.shape);
  CHECKED(insert.bind_blob(next.hash).run());
  return write_end(database, "last", next);
}

Result<AuditVerdict> verify_audit(Database& database) {
  TRY(End at, read_end(database, "before"));
  TRY(End last, read_end(database, "last"));
  TRY(Statement rows, database.prepare("SELECT number, at_ms, tenant, uid, pid, action, subject, shape, hash "
                                       "FROM audit ORDER BY number"));
  AuditVerdict verdict;
  auto problem = [&](std::string text) {
    verdict.problem = std::move(text);
    verdict.head = hexadecimal(at.hash);
    return verdict;
  };
  for (;;) {
    TRY(bool row, rows.step());
    if (!row) break;
    const int64_t number = rows.integer(0);
    if (number != at.number + 1) return problem(fmt::format("entry {} is missing", at.number + 1));
    const AuditEntry entry{rows.integer(1),
                           rows.text(2),
                           static_cast<uint32_t>(rows.integer(3)),
                           static_cast<int32_t>(rows.integer(4)),
                           rows.text(5),
                           rows.text(6),
                           rows.text(7)};
    if (hash_of(at.hash, number, entry) != rows.blob(8))
      return problem(fmt::format("entry {} is not what was written, or does not follow entry {}", number, at.number));
    at = {number, rows.blob(8)};
    verdict.entries++;
  }
  if (at.number < last.number) return problem(fmt::format("entries {} to {} are missing", at.number + 1, last.number));
  if (at.number != last.number || at.hash != last.hash)
    return problem(fmt::format("entry {} is not the last one that was written", at.number));
  verdict.head = hexadecimal(at.hash);
  return verdict;
}

Result<uint64_t> forget_audit(Database& database, uint64_t most, int64_t oldest_ms, uint64_t at_once) {
  TRY(End before, read_end(database, "before"));
  TRY(End last, read_end(database, "last"));
  // Only from the oldest on, so that what is left is one chain.
  TRY(Statement newest,
      database.prepare("SELECT number, hash FROM audit WHERE number>?1 AND number<=?2 AND (at_ms<?3 OR number<=?4) "
                       "ORDER BY number DESC LIMIT 1"));
  const int64_t most_kept = static_cast<int64_t>(std::min<uint64_t>(most, INT64_MAX));
  newest.bind(before.number).bind(before.number + static_cast<int64_t>(at_once)).bind(oldest_ms);
  TRY(bool row, newest.bind(last.number - most_kept).step());
  if (!row) return 0;
  End cut{newest.integer(0), newest.blob(1)};
  TRY(Statement remove, database.prepare("DELETE FROM audit WHERE number<=?"));
  CHECKED(remove.bind(cut.number).run());
  const auto removed = static_cast<uint64_t>(database.changed_rows());
  CHECKED(write_end(database, "before", cut));
  return removed;
}

}  // namespace journal
