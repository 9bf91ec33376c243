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
      std::string one;
      append_json_string(one, path);
      if (one.size() + 1 > room) {
        omitted++;
        continue;
      }
      room -= one.size() + 1;
      if (!list.empty()) list += ',';
      list += one;
    }
    if (!list.empty()) text += (text.size() > 1 ? ",\"" : "\"") + std::string(of_kind.kind) + "\":[" + list + "]";
  }
  if (omitted > 0) text += (text.size() > 1 ? ",\"omitted\":" : "\"omitted\":") + std::to_string(omitted);
  return text.size() > 1 ? text + "}" : std::string();
}

Result<> write_details(Database& database, const std::string& id, const ExecutionDetails& details) {
  const size_t whole = whole_utf8_prefix(std::string_view(details.message).substr(0, kDetailsMessageBytes));
  const bool fits = details.receipt.size() <= kDetailsReceiptBytes;
  TRY(Statement insert,
      database.prepare("INSERT INTO execution_details SELECT number, ?2, ?3, ?4, ?5 FROM executions WHERE id=?1 "
                       "ON CONFLICT(number) DO NOTHING"));
  insert.bind(id).bind(details.start).bind(std::string_view(details.message).substr(0, whole));
  insert.bind(fits ? std::string_view(details.receipt) : std::string_view());
  return insert.bind(details.files.size() <= kDetailsFilesBytes ? details.files : std::string()).run();
}

Result<std::optional<ExecutionDetails>> read_details(Database& database, int64_t number) {
  TRY(Statement found, database.prepare("SELECT start, message, receipt, files FROM execution_details WHERE number=?"));
  TRY(bool row, found.bind(number).step());
  if (!row) return std::optional<ExecutionDetails>();
  return std::optional<ExecutionDetails>({found.text(0), found.text(1), found.text(2), found.text(3)});
}

Result<std::optional<std::string>> read_receipt(Database& database, const std::string& tenant, const std::string& id) {
  TRY(Statement found,
      database.prepare("SELECT coalesce(receipt, '') FROM executions LEFT JOIN execution_details USING (number) "
                       "WHERE tenant=? AND id=?"));
  TRY(bool row, found.bind(tenant).bind(id).step());
  return row ? std::optional(found.text(0)) : std::nullopt;
}

}  // namespace journal
