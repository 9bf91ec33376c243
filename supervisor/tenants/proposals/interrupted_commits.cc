#include "supervisor/tenants/proposals/interrupted_commits.h"

#include <unistd.h>

#include "policies/names.h"
#include "supervisor/base/path.h"
#include "supervisor/tenants/named_workspaces.h"
#include "supervisor/tenants/proposals/proposal_folder.h"
#include "supervisor/tenants/proposals/tree_access.h"

namespace proposals {
namespace {

constexpr uint64_t kMaxNames = 100'000;  // in one folder
constexpr size_t kMaxFirstLine = 128;

enum class JournalEnd { no_journal, reached, ahead };

// A journal that cannot be read has its end ahead: load() then says what is wrong with it.
JournalEnd end_of_journal(int folder, unsigned number) {
  const auto file = open_regular(folder, journal_name(number));
  if (!file) return file.error().code == Code::not_found ? JournalEnd::no_journal : JournalEnd::ahead;
  char bytes[kMaxFirstLine];
  const ssize_t size = ::pread(file->get(), bytes, sizeof bytes, 0);
  const auto state = size < 0 ? std::nullopt : state_of_journal({bytes, static_cast<size_t>(size)});
  return state == JournalState::done || state == JournalState::undone ? JournalEnd::reached : JournalEnd::ahead;
}

bool is_interrupted(int staging, const std::string& id) {
  const auto folder = open_folder(staging, id);
  if (!folder) return folder.error().code != Code::not_found;  // load() says what is wrong
  for (unsigned number = 1; number <= kMaxCommits; number++) {
    const JournalEnd end = end_of_journal(folder->get(), number);
    if (end != JournalEnd::reached) return end == JournalEnd::ahead;
  }
  return false;
}

class Search {
 public:
  Search(const CommitHooks& hooks, InterruptedCommits& commits) : hooks_(hooks), commits_(commits) {}

  // `path`: the folder of a tenant or named workspace.
  void look_at(int tenants, const std::string& path, const std::string& text) {
    const auto staging = open_folder(tenants, joined(path, "staging"));
    const auto workspace = open_folder(tenants, joined(path, "workspace"));
    for (const auto* folder : {&staging, &workspace})
      if (!*folder && folder->error().code != Code::not_found) note(folder->error(), text);
    if (!staging || !workspace) return;
    const auto names = list_names(staging->get(), "", kMaxNames);
    if (!names) return note(names.error(), text);
    for (const std::string& id : *names)
      if (is_proposal_id(id) && is_interrupted(staging->get(), id))
        complete(staging->get(), workspace->get(), id, text);
  }

  void note(Error error, const std::string& text) { commits_.failed.push_back(std::move(error).within(text)); }

 private:
  void complete(int staging, int workspace, const std::string& id, const std::string& text) {
    auto folder = ProposalFolder::open(staging, workspace, id);
    if (!folder) return note(folder.error(), text);
    const auto loaded = folder->load(hooks_);
    if (!loaded) return note(loaded.error(), text);
    if (*loaded && (*loaded)->state != ProposalState::damaged) commits_.completed++;
  }

  const CommitHooks& hooks_;
  InterruptedCommits& commits_;
};

}  // namespace

Result<InterruptedCommits> complete_interrupted_commits(int tenants, const CommitHooks& hooks) {
  InterruptedCommits commits;
  Search search(hooks, commits);
  TRY(const auto names, list_names(tenants, "", kMaxNames));
  for (const std::string& tenant : names) {
    if (!policies::valid_name(tenant)) continue;
    search.look_at(tenants, tenant, "tenant " + tenant);
    const std::string folder = joined(tenant, tenants::kNamedWorkspaces);
    const auto entry = find_entry(tenants, folder);
    if (!entry) search.note(entry.error(), "tenant " + tenant);
    if (!entry || !*entry) continue;
    const auto workspaces = list_names(tenants, folder, kMaxNames);
    if (!workspaces) {
      search.note(workspaces.error(), "tenant " + tenant);
      continue;
    }
    for (const std::string& workspace : *workspaces)
      if (policies::valid_workspace_name(workspace))
        search.look_at(tenants, joined(folder, workspace), "workspace " + tenant + "/" + workspace);
  }
  return commits;
}

}  // namespace proposals
