#include "supervisor/programs/cli/admin/audit_heads.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "supervisor/base/fd.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/programs/cli/admin/command.h"
#include "supervisor/programs/cli/admin/journal_file.h"
#include "supervisor/programs/cli/admin/values.h"
#include "supervisor/programs/cli/lines.h"
#include "supervisor/programs/cli/terminal.h"

namespace admin {
namespace {

constexpr size_t kMaxHeads = 10'000'000;

using Standing = journal::HeadStanding;

std::string why_lost(Standing standing, const StoredHead& stored, int64_t last) {
  if (standing == Standing::changed)
    return fmt::format("entry {} has another hash: the chain was rewritten or begun anew", stored.head.count);
  if (last < stored.head.count) return fmt::format("the chain ends at entry {}: it was cut off or begun anew", last);
  return fmt::format("entry {} is missing", stored.head.count);
}

}  // namespace

Result<std::vector<StoredHead>> read_heads(const std::string& file) {
  const Fd opened(file == "-" ? ::dup(STDIN_FILENO) : ::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!opened) return fail_errno(errno, "open " + file);
  std::vector<StoredHead> heads;
  uint64_t number = 0;
  LineSplitter lines(cli::kMaxLineBytes);
  const auto take = [&](const LineSplitter::Item& line) {
    number++;
    auto head = journal::parse_head(line.text);
    if (!head || heads.size() >= kMaxHeads) return;
    const bool is_again = !heads.empty() && heads.back().head == *head;
    if (!is_again) heads.push_back({number, *std::move(head)});
  };
  for (;;) {
    const ssize_t n = cli::fill(lines, opened.get());
    if (n == -EINTR) continue;
    if (n < 0) return fail_errno(static_cast<int>(-n), "read " + file);
    if (n == 0) break;
    while (const auto line = lines.next()) take(*line);
  }
  if (const auto last = lines.rest()) take(*last);
  if (!heads.empty()) return heads;
  return fail(Code::invalid, fmt::format("--against: {} has no head of an audit chain", file),
              "use the output of: journalctl -u warder -o json, or warder audit head");
}

Result<HeadsVerdict> compare_heads(journal::Database& database, const std::vector<StoredHead>& heads) {
  HeadsVerdict verdict;
  TRY(const journal::AuditHead last, journal::read_head(database));
  for (const StoredHead& stored : heads) {
    TRY(const Standing standing, journal::find_head(database, stored.head));
    verdict.heads++;
    if (standing == Standing::in_chain) {
      verdict.in_chain++;
    } else if (standing == Standing::forgotten) {
      verdict.forgotten++;
    } else if (verdict.lost++ == 0) {
      verdict.first_lost = stored;
      verdict.why = why_lost(standing, stored, last.count);
    }
  }
  return verdict;
}

Json json_of(const HeadsVerdict& verdict) {
  Json report = {{"heads", verdict.heads},
                 {"in_chain", verdict.in_chain},
                 {"forgotten", verdict.forgotten},
                 {"lost", verdict.lost}};
  if (verdict.lost > 0)
    report["first_lost"] = {{"line", verdict.first_lost.line},
                            {"count", verdict.first_lost.head.count},
                            {"head", verdict.first_lost.head.hash},
                            {"why", verdict.why}};
  return report;
}

std::string text_of(const HeadsVerdict& verdict) {
  std::string text = fmt::format("stored heads: {}; {} are in the chain", verdict.heads, verdict.in_chain);
  if (verdict.forgotten > 0)
    text += fmt::format(", {} belong to forgotten entries and cannot be compared", verdict.forgotten);
  if (verdict.lost == 0) return text + "\n";
  return text + fmt::format("\nLOST: {} are not in the chain. The first one, line {}: {} entries, head {}: {}\n",
                            verdict.lost, verdict.first_lost.line, verdict.first_lost.head.count,
                            verdict.first_lost.head.hash, verdict.why);
}

Result<int> print_audit_head(const ParsedCommand& command) {
  const std::string file = journal_file(command.words.empty() ? kStandardState : command.words.front());
  TRY(journal::Database database, open_journal(file));
  TRY(const journal::AuditHead head, journal::read_head(database));
  if (command.json) {
    print_json({{"file", file}, {"count", head.count}, {"head", head.hash}});
  } else {
    cli::print_text(stdout, journal::head_text(head) + "\n");
  }
  return 0;
}
const ProgramOfCommand kPrintAuditHead{"audit head", print_audit_head};

}  // namespace admin
