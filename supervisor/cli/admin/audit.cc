// `warder audit verify`: whether the audit chain is whole. Reads the journal's file itself, beside a daemon or without
// one, and changes nothing in it. What a whole chain proves, and what not: supervisor/journal/audit.h.
#include "supervisor/journal/audit.h"

#include <cstdio>
#include <filesystem>

#include "supervisor/cli/admin/command.h"
#include "supervisor/cli/admin/values.h"
#include "supervisor/cli/terminal.h"

namespace admin {
namespace {

constexpr char kStandard[] = "/var/lib/warder";

// The file itself, or a folder that a daemon keeps its state or its journal in.
std::string file_of(const std::string& named) {
  std::error_code gone;
  for (const char* below : {"journal/journal.db", "journal.db"}) {
    const auto file = std::filesystem::path(named) / below;
    if (std::filesystem::exists(file, gone)) return file.string();
  }
  return named;
}

Result<journal::AuditVerdict> verify(const std::string& file) {
  TRY(journal::Database database, journal::Database::open(file, journal::Database::Access::read_only));
  CHECKED(database.execute("BEGIN"));  // one picture of it, whatever is written meanwhile
  return journal::verify_audit(database);
}

}  // namespace

Result<int> verify_audit_chain(const Given& given) {
  const std::string file = file_of(given.words.empty() ? kStandard : given.words.front());
  auto verdict = verify(file);
  if (!verdict)
    return fail(Code::unavailable, file + " cannot be verified: " + verdict.error().what,
                "name the daemon's journal.db or its state folder, and be root or the daemon's user");
  const bool whole = verdict->problem.empty();
  if (given.json) {
    json told{{"file", file}, {"whole", whole}, {"entries", verdict->entries}, {"head", verdict->head}};
    if (!whole) told["problem"] = verdict->problem;
    print_json(told);
  } else {
    const std::string counted = std::to_string(verdict->entries) + " entries";
    cli::print_text(stdout, whole ? "whole: " + counted + ", head " + verdict->head + "\n"
                                  : "BROKEN after " + counted + ": " + verdict->problem + "\n");
  }
  return whole ? 0 : 1;
}

}  // namespace admin
