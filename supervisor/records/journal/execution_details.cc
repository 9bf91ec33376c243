#include "supervisor/records/journal/execution_details.h"

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"

namespace journal {

std::string file_list(const std::vector<ChangedFiles>& changed) {
  std::string text = "{";
  uint64_t omitted = 0;
  size_t room = kDetailsFilesBytes - 64;  // of the keys and `omitted`
  for (const ChangedFiles& of_kind : changed) {
    omitted += of_kind.omitted;
    std::string list;
    for (const std::string& path : *of_kind.paths) {
      std::string name;
      append_json_string(name, path);
      if (name.size() + 1 > room) {
        omitted++;
        continue;
      }
      room -= name.size() + 1;
      if (!list.empty()) list += ',';
      list += name;
    }
    if (!list.empty()) text += (text.size() > 1 ? ",\"" : "\"") + std::string(of_kind.kind) + "\":[" + list + "]";
  }
  if (omitted > 0) text += (text.size() > 1 ? ",\"omitted\":" : "\"omitted\":") + std::to_string(omitted);
  return text.size() > 1 ? text + "}" : std::string();
}

Result<> write_details(Database& database, const std::string& id, const ExecutionDetails& details) {
  const size_t full = whole_utf8_prefix(std::string_view(details.message).substr(0, kDetailsMessageBytes));
  const bool fits = details.receipt.size() <= kDetailsReceiptBytes;
  TRY(Statement insert,
      database.prepare("INSERT INTO execution_details SELECT number, ?2, ?3, ?4, ?5 FROM executions WHERE id=?1 "
                       "ON CONFLICT(number) DO NOTHING"));
  insert.bind(id).bind(details.start).bind(std::string_view(details.message).substr(0, full));
  insert.bind(fits ? std::string_view(details.receipt) : std::string_view());
  return insert.bind(details.files.size() <= kDetailsFilesBytes ? details.files : std::string()).run();
}

Result<std::optional<ExecutionDetails>> read_details(Database& database, int64_t number) {
  TRY(Statement statement,
      database.prepare("SELECT start, message, receipt, files FROM execution_details WHERE number=?"));
  TRY(bool row, statement.bind(number).step());
  if (!row) return std::optional<ExecutionDetails>();
  return std::optional<ExecutionDetails>({statement.text(0), statement.text(1), statement.text(2), statement.text(3)});
}

Result<std::optional<std::string>> read_receipt(Database& database, const std::string& tenant, const std::string& id) {
  TRY(Statement statement,
      database.prepare("SELECT coalesce(receipt, '') FROM executions LEFT JOIN execution_details USING (number) "
                       "WHERE tenant=? AND id=?"));
  TRY(bool row, statement.bind(tenant).bind(id).step());
  return row ? std::optional(statement.text(0)) : std::nullopt;
}

}  // namespace journal
