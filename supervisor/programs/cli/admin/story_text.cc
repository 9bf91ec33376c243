#include "supervisor/programs/cli/admin/story_text.h"

#include <fmt/format.h>

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_text.h"
#include "supervisor/programs/cli/admin/text.h"
#include "supervisor/programs/cli/admin/times.h"

namespace admin {
namespace {

constexpr size_t kNameWidth = 12;
constexpr int kMaxReceiptDepth = 8;

std::string usec_or_dash(const Json& of, const char* key) {
  return member(of, key).is_null() ? "-" : usec_text(number(of, key));
}
std::string bytes_or_dash(const Json& of, const char* key) {
  return member(of, key).is_null() ? "-" : bytes_text(number(of, key));
}
std::string count_or_dash(const Json& of, const char* key) {
  return member(of, key).is_null() ? "-" : std::to_string(number(of, key));
}

std::string one_line(const char* name, const std::string& value) {
  return fmt::format("{:<{}}  {}\n", name, kNameWidth, value.empty() ? "-" : harmless(value));
}

std::string started_text(const Json& of) { return local_time(static_cast<int64_t>(number(of, "StartedUSec") / 1000)); }

std::string files_text(const Json& files) {
  std::string lines;
  for (const char* kind : {"created", "modified", "deleted"})
    for (const Json& path : member(files, kind))
      lines += one_line(lines.empty() ? "files" : "", fmt::format("{} {}", kind, text(path)));
  if (const uint64_t omitted = number(files, "omitted"); omitted > 0)
    lines += one_line(lines.empty() ? "files" : "", fmt::format("and {} more", omitted));
  return lines.empty() ? one_line("files", files.is_object() ? "none changed" : "-") : lines;
}

std::string calls_text(const Json& record) {
  std::string lines;
  for (const Json& call : member(record, "Calls")) {
    const uint64_t count = number(call, "count");
    const std::string times = count > 1 ? fmt::format(" ({} times)", count) : "";
    lines +=
        one_line(lines.empty() ? "calls" : "", fmt::format("{} {} {}{} {}", text(call, "time"), text(call, "action"),
                                                           text(call, "subject"), times, text(call, "details")));
  }
  if (member(record, "MoreCalls") == true) lines += one_line("", "and more, see: warder audit list");
  return lines.empty() ? one_line("calls", "none") : lines;
}

std::string receipt_text(const std::string& receipt) {
  if (receipt.empty()) return one_line("receipt", "-");
  const auto parsed = parse_json(receipt, kMaxReceiptDepth);
  if (!parsed || !parsed->is_object()) return one_line("receipt", receipt);
  std::string lines;
  for (const auto& [key, value] : parsed->items())
    lines += one_line(lines.empty() ? "receipt" : "",
                      key + ": " + (value.is_string() ? value.get<std::string>() : dump_json_ascii(value)));
  return lines;
}

std::string proposal_text(const Json& proposal) {
  if (!proposal.is_object()) return {};
  return one_line("proposal", fmt::format("{} {}; see: warder diff {}", text(proposal, "Id"), text(proposal, "State"),
                                          text(proposal, "Id")));
}

std::string output_text(const Json& record) {
  if (member(record, "OutputStored").is_null()) return "-";
  if (member(record, "OutputStored") != true) return "not stored";
  return fmt::format("stdout {}, stderr {}; see: warder logs {}", bytes_or_dash(record, "StdoutBytes"),
                     bytes_or_dash(record, "StderrBytes"), text(record, "Id"));
}

}  // namespace

std::vector<std::string> history_table(const std::vector<Json>& rows, size_t width) {
  const std::vector<Column> columns = {{"ID"},
                                       {"TENANT", Align::left, Fit::shrinks},
                                       {"LANGUAGE"},
                                       {"OUTCOME"},
                                       {"STARTED"},
                                       {"WALL", Align::right},
                                       {"CPU", Align::right},
                                       {"MEMORY", Align::right}};
  std::vector<Line> lines;
  for (const Json& row : rows)
    lines.push_back({text(row, "Id"), text(row, "Tenant"), text(row, "Language"), text(row, "Outcome"),
                     started_text(row), usec_or_dash(row, "WallUSec"), usec_or_dash(row, "CPUUSec"),
                     bytes_or_dash(row, "MemoryPeakBytes")});
  return table(columns, lines, width);
}

std::string changes_text(const Json& record) { return files_text(member(record, "Files")) + calls_text(record); }

std::string story_text(const Json& record) {
  const Json& ledger = member(record, "Ledger");
  std::string message = one_line("execution", text(record, "Id"));
  message += one_line("tenant", text(record, "Tenant"));
  message += one_line("client", client_text(record));
  message += one_line("policy", text(record, "Policy"));
  message +=
      one_line("program", fmt::format("{}, {} bytes", text(record, "Language"), count_or_dash(record, "CodeBytes")));
  message += one_line("started", started_text(record));
  message += one_line("outcome", text(record, "Outcome"));
  message += one_line("message", text(record, "Message"));
  message += one_line(
      "usage", fmt::format("wall {}, CPU {}, memory {}, tasks {}; answer after {}", usec_or_dash(record, "WallUSec"),
                           usec_or_dash(record, "CPUUSec"), bytes_or_dash(record, "MemoryPeakBytes"),
                           count_or_dash(record, "TasksPeak"), usec_or_dash(record, "AnswerUSec")));
  message +=
      one_line("context", fmt::format("returned {}, printed {}, fetched {}, read {}",
                                      bytes_or_dash(ledger, "returned_bytes"), bytes_or_dash(ledger, "printed_bytes"),
                                      bytes_or_dash(ledger, "fetched_bytes"), bytes_or_dash(ledger, "read_bytes")));
  message += one_line("output", output_text(record));
  message += changes_text(record);
  message += proposal_text(member(record, "Proposal"));
  message += receipt_text(text(record, "Receipt"));
  return message;
}

Json with_parsed_receipt(Json record) {
  if (!record.is_object()) return record;
  const auto parse = [](Json& value) {
    if (!value.is_string()) return;
    if (auto parsed = parse_json(text(value), kMaxReceiptDepth)) value = *std::move(parsed);
  };
  if (record.contains("Receipt")) parse(record["Receipt"]);
  if (!member(record, "Calls").is_array()) return record;
  for (Json& call : record["Calls"])
    if (call.is_object() && call.contains("details")) parse(call["details"]);
  return record;
}

}  // namespace admin
