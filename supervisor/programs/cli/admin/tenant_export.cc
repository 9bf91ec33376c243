// `warder tenant export`: all data of a tenant as one tar file: workspaces, output, sessions' logs, skills, and its
// records as lines of JSON. Root reads the files directly, whether a daemon runs or not. The vault is left out: it is
// sealed with the daemon's key.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "policies/names.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_text.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/path.h"
#include "supervisor/programs/cli/admin/archive.h"
#include "supervisor/programs/cli/admin/command.h"
#include "supervisor/programs/cli/admin/journal_file.h"
#include "supervisor/programs/cli/admin/private_folder.h"
#include "supervisor/programs/cli/admin/story_text.h"
#include "supervisor/programs/cli/terminal.h"
#include "supervisor/records/journal/history.h"

namespace admin {
namespace {

constexpr char kRecords[] = "records";
// What a tenant's folder may have. Not: `unfinished`, `vault`, `staging`.
constexpr const char* kTenantFolders[] = {"workspace", "workspaces", "executions", "sessions", "skills", "servers"};

void write_line(std::ofstream& to, const Json& value) { to << dump_json_ascii(value) << '\n'; }

Result<> write_executions(journal::Database& database, const std::string& tenant, std::ofstream& to) {
  journal::HistoryFilter filter{.account = tenant};
  for (;;) {
    TRY(const journal::HistoryPage page, journal::read_history(database, filter, 0));
    for (const auto& row : page.rows) {
      TRY(const auto story, journal::read_story(database, tenant, row.numbers.started.id));
      if (story) write_line(to, with_parsed_receipt(journal::to_json(*story)));
    }
    if (page.next.empty()) return {};
    filter.after = page.next;
  }
}

// executions.jsonl and audit.jsonl below `folder`.
Result<> write_records(const std::string& file, const std::string& tenant, const std::filesystem::path& folder) {
  TRY(journal::Database database, open_journal(file));
  std::ofstream executions(folder / "executions.jsonl"), audit(folder / "audit.jsonl");
  CHECKED(write_executions(database, tenant, executions));
  const auto take = [&audit](const journal::ChainEntry& line) {
    write_line(audit, journal::to_json(line));
    return audit.good();
  };
  CHECKED(journal::each_entry(database, {.account = tenant}, journal::EntryOrder::oldest_first, take));
  executions.flush(), audit.flush();
  if (executions.good() && audit.good()) return {};
  return fail(Code::exhausted, "the records cannot be written below " + folder.string(), "free space there");
}

Result<bool> export_to(int archive, const std::string& state, const std::string& tenant) {
  TRY(const Fd folder, open_directory(state));
  TRY(const RelativePath path, RelativePath::parse("tenants/" + tenant));
  auto opened = open_directory_beneath(folder.get(), path);
  if (!opened)
    return fail(Code::not_found,
                "no folder of tenant '" + tenant + "' can be opened below " + state + ": " + opened.error().what,
                "warder tenants lists the tenants; call as root, and name the state folder with --state");
  ArchivePart files{opened->get(), {}};
  for (const char* name : kTenantFolders) {
    if (::faccessat(opened->get(), name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
      files.entries.emplace_back(name);
    else if (errno != ENOENT)
      return fail_path(errno, "look at", name);
  }
  TRY(const PrivateFolder scratch, PrivateFolder::make());
  std::filesystem::create_directory(scratch.path() / kRecords);
  CHECKED(write_records(journal_file(state), tenant, scratch.path() / kRecords));
  TRY(const Fd records, open_directory(scratch.path().string()));
  return write_archive(archive, {{records.get(), {kRecords}}, files},
                       {"workspaces/*/vault", "workspaces/*/unfinished", "workspaces/*/staging"});
}

}  // namespace

Result<int> export_tenant(const ParsedCommand& command) {
  if (command.words.size() != 2)
    return fail(Code::invalid, "a tenant and a file are needed", "warder tenant export NAME FILE.tar");
  const std::string &tenant = command.words[0], &path = command.words[1];
  if (!policies::valid_name(tenant)) return fail(Code::invalid, "this is not the name of a tenant");
  TRY(const Fd archive, make_archive(path));
  auto changed = export_to(archive.get(), command.value("state", kStandardState), tenant);
  if (!changed) {
    ::unlink(path.c_str());
    return tl::unexpected<Error>(std::move(changed).error());
  }
  if (*changed) cli::print_text(stderr, "some files changed while they were read\n");
  cli::print_text(stdout, path + " has the data of tenant '" + tenant + "', without its vault\n");
  return 0;
}
const ProgramOfCommand kExportTenant{"tenant export", export_tenant};

}  // namespace admin
