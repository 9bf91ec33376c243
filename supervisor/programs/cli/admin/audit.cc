// `warder audit verify`: checks that the audit chain is whole. It reads the journal's file directly, whether a daemon
// runs or not, and does not change the file. supervisor/records/journal/audit.h says which changes the check can find.
#include "supervisor/records/journal/audit.h"

#include <fmt/format.h>

#include <cstdio>
#include <ctime>

#include "supervisor/base/json/json_value.h"
#include "supervisor/programs/cli/admin/audit_heads.h"
#include "supervisor/programs/cli/admin/command.h"
#include "supervisor/programs/cli/admin/journal_file.h"
#include "supervisor/programs/cli/admin/values.h"
#include "supervisor/programs/cli/terminal.h"
#include "supervisor/records/journal/own_files.h"

namespace admin {
namespace {

struct Verdicts {
  journal::AuditVerdict chain;
  std::optional<HeadsVerdict> heads;  // nullopt: none were named, or the chain is broken and proves no gaps
};

Result<Verdicts> verify(const std::string& file, const std::vector<StoredHead>& heads) {
  TRY(journal::Database database, journal::Database::open(file, journal::Database::Access::read_only));
  CHECKED(database.execute("BEGIN"));  // a daemon's later writes are not seen
  Verdicts verdicts;
  TRY(verdicts.chain, journal::verify_audit(database));
  if (heads.empty() || !verdicts.chain.problem.empty()) return verdicts;
  TRY(verdicts.heads, compare_heads(database, heads));
  return verdicts;
}

std::string_view name_of(journal::AuditKind kind) {
  if (kind == journal::AuditKind::call) return "calls";
  return kind == journal::AuditKind::refusal ? "refusals" : "approvals";
}

std::string time_of(int64_t ms) {
  const std::time_t seconds = static_cast<std::time_t>(ms / 1000);
  std::tm parts{};
  if (::gmtime_r(&seconds, &parts) == nullptr) return "a time that is out of range";
  char text[64];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

using Share = journal::AuditVerdict::Share;

Json json_of(const Share& share) {
  Json report{{"entries", share.entries}, {"calls", share.calls}};
  if (share.since_ms > 0) report["since"] = time_of(share.since_ms), report["until"] = time_of(share.until_ms);
  return report;
}

std::string text_of(const Share& share) {
  std::string text = fmt::format("{} entries of {} calls", share.entries, share.calls);
  if (share.since_ms > 0) text += fmt::format(", {} to {}", time_of(share.since_ms), time_of(share.until_ms));
  return text;
}

Json json_of(const journal::AuditVerdict& verdict) {
  Json forgotten = json_of(verdict.forgotten);
  forgotten["said_by"] = verdict.said_by;
  forgotten["unproven"] = verdict.unproven;
  forgotten["shares"] = Json::array();
  for (const Share& share : verdict.shares) {
    Json item = json_of(share);
    item["tenant"] = share.account, item["kind"] = name_of(share.kind);
    forgotten["shares"].push_back(std::move(item));
  }
  return {{"entries", verdict.entries},
          {"calls", verdict.calls},
          {"unsealed", verdict.unsealed},
          {"head", verdict.head},
          {"forgotten", std::move(forgotten)}};
}

std::string text_of(const journal::AuditVerdict& verdict) {
  std::string text = fmt::format("{} entries of {} calls", verdict.entries, verdict.calls);
  text = verdict.problem.empty() ? fmt::format("whole: {}, head {}\n", text, verdict.head)
                                 : fmt::format("BROKEN after {}: {}\n", text, verdict.problem);
  if (verdict.unsealed > 0)
    text += fmt::format("repeated calls of the last minute, not in the chain yet: {}\n", verdict.unsealed);
  if (verdict.forgotten.entries == 0) return text;
  text += fmt::format("forgotten, beyond the journal's limits: {}\n", text_of(verdict.forgotten));
  if (verdict.unproven > 0)
    text += fmt::format("  {} of them by an older version of Warder: no entry records these\n", verdict.unproven);
  for (const Share& share : verdict.shares)
    text += fmt::format("  {} of {}: {}\n", name_of(share.kind),
                        share.account.empty() ? "tenants that have no entries left" : share.account, text_of(share));
  return text;
}

}  // namespace

Result<int> verify_audit_chain(const ParsedCommand& command) {
  const std::string file = journal_file(command.words.empty() ? kStandardState : command.words.front());
  const std::string trouble = journal::trouble_of_daemon(file);
  std::vector<StoredHead> heads;
  if (command.has("against")) {
    TRY(heads, read_heads(command.value("against", "-")));
  }
  auto verdicts = verify(file, heads);
  if (!verdicts && trouble.empty())
    return fail(Code::unavailable, file + " cannot be verified: " + verdicts.error().what,
                "name the daemon's journal.db or its state folder, and call as root or as the daemon's user");
  if (!verdicts) verdicts = Verdicts{};
  auto& [verdict, of_heads] = *verdicts;
  if (!trouble.empty()) verdict.problem = trouble;
  const bool full = verdict.problem.empty();
  if (command.json) {
    Json report = json_of(verdict);
    report["file"] = file, report["whole"] = full;
    if (!full) report["problem"] = verdict.problem;
    if (of_heads) report["against"] = json_of(*of_heads);
    print_json(report);
  } else {
    cli::print_text(stdout, text_of(verdict));
    if (of_heads) cli::print_text(stdout, text_of(*of_heads));
  }
  return full && (!of_heads || of_heads->lost == 0) ? 0 : 1;
}
const ProgramOfCommand kVerifyAuditChain{"audit verify", verify_audit_chain};

}  // namespace admin
