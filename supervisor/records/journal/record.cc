#include "supervisor/records/journal/record.h"

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/records/journal/execution_facts.h"

namespace journal {
namespace {

constexpr char kTable[] = "CREATE TABLE applied(last INTEGER NOT NULL); INSERT INTO applied VALUES(0);";
constexpr int kMaxDepth = 3;
constexpr size_t kStartedMembers = 6, kEndedMembers = 11, kAuditMembers = 7;  // members in the first release

// The members of each kind, in the order in which they are written and read.
template <class Each>
void each_member(StartedRow& start, Each each) {
  for_each_fact(start, [&each](const ExecutionFact&, auto& member) { each(member); });
}
template <class Each>
void each_member(Ended& ended, Each each) {
  each(ended.id), each(ended.outcome);
  for_each_fact(ended, [&each](const ExecutionFact&, auto& member) { each(member); });
}
template <class Each>
void each_member(AuditEntry& entry, Each each) {
  each(entry.at_ms), each(entry.tenant), each(entry.uid), each(entry.pid), each(entry.action), each(entry.subject);
  each(entry.shape), each(entry.kind), each(entry.count), each(entry.last_ms), each(entry.same);
  each(entry.principal);
}

template <class Member>
Json member_json(const Member& member) {
  return member;
}
Json member_json(const std::optional<uint32_t>& number) { return number ? Json(*number) : Json(); }

template <class T>
Json to_array(T value) {
  Json array = Json::array();
  each_member(value, [&](const auto& member) { array.push_back(member_json(member)); });
  return array;
}

template <class Member>
void read_member(const Json& from, Member& member) {
  from.get_to(member);
}
void read_member(const Json& from, AuditKind& kind) {
  const int number = from.get<int>();
  if (number >= 0 && number <= static_cast<int>(AuditKind::own)) kind = static_cast<AuditKind>(number);
}

void read_member(const Json& from, std::optional<uint32_t>& number) {
  if (!from.is_null()) number = from.get<uint32_t>();
}

// Throws nlohmann's exception for a wrong type. An array of the first release has only `least` members: newer members
// keep their defaults.
template <class T>
T from_array(const Json& array, size_t least) {
  T value;
  size_t at = 0;
  each_member(value, [&](auto& member) {
    if (at < least || at < array.size()) read_member(array.at(at), member);
    at++;
  });
  return value;
}

}  // namespace

SchemaPart records_part() { return {"records", {kTable}}; }

std::string to_line(const Record& record) {
  Json line = {{"n", record.number}};
  if (const auto* finished = std::get_if<Finished>(&record.what)) {
    line["begun"] = to_array(finished->started);
    line["ended"] = to_array(finished->ended);
  } else {
    line["audit"] = to_array(std::get<AuditEntry>(record.what));
  }
  std::string text = dump_json(line);
  text += '\n';
  return text;
}

std::optional<Record> from_line(std::string_view line) {
  auto parsed = parse_json(line, kMaxDepth);
  if (!parsed || !parsed->is_object()) return std::nullopt;
  try {
    Record record;
    parsed->at("n").get_to(record.number);
    if (parsed->contains("audit")) {
      record.what = from_array<AuditEntry>(parsed->at("audit"), kAuditMembers);
    } else {
      record.what = Finished{from_array<StartedRow>(parsed->at("begun"), kStartedMembers),
                             from_array<Ended>(parsed->at("ended"), kEndedMembers)};
    }
    return record;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

Result<int64_t> last_applied(Database& database) {
  TRY(auto last, database.number("SELECT last FROM applied"));
  return last.value_or(0);
}

Result<> apply(Database& database, const Record& record) {
  TRY(Statement mark, database.prepare("UPDATE applied SET last=?1 WHERE last<?1"));
  CHECKED(mark.bind(record.number).run());
  if (database.changed_rows() == 0) return {};
  if (const auto* entry = std::get_if<AuditEntry>(&record.what)) return append_audit(database, *entry);
  const auto& finished = std::get<Finished>(record.what);
  CHECKED(write_started(database, finished.started));
  return write_ended(database, finished.ended);
}

}  // namespace journal
