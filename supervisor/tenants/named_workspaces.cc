#include "supervisor/tenants/named_workspaces.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "policies/names.h"
#include "supervisor/base/ascii.h"
#include "supervisor/base/elapsed_clock.h"
#include "supervisor/base/folder.h"
#include "supervisor/base/loop.h"
#include "supervisor/base/tree.h"
#include "supervisor/tenants/retention_stamp.h"
#include "supervisor/tenants/tenant.h"

namespace tenants {
namespace {

using std::chrono::seconds;

constexpr size_t kMaxListed = 100'000;
constexpr unsigned kRemovalSlice = 200;             // operations of a removal in one turn of the loop
constexpr size_t kMaxRules = 64;                    // bytes of the file `used`
constexpr std::string_view kRemoved = ".removed-";  // prefix of the name of a workspace during its removal
constexpr char kUsed[] = "used", kWarned[] = "warned";

Result<RelativePath> path_of(std::string_view name, std::string_view file) {
  return RelativePath::parse(std::string(name) + "/" + std::string(file));
}

// The time since note() wrote the file; nullopt when it does not exist.
std::optional<seconds> age_of(int directory, const RelativePath& path) {
  auto status = stat_beneath(directory, path);
  if (!status) return std::nullopt;
  return seconds(std::max<int64_t>(retention_now_ms() / 1000 - status->st_mtime, 0));
}

// Writes the file and sets its time to the retention time now, also when its contents do not change.
Result<> note(int directory, const RelativePath& path, std::string_view contents) {
  TRY(Fd file, open_beneath(directory, path, O_WRONLY | O_CREAT | O_TRUNC, 0600));
  CHECKED(write_all(file.get(), contents));
  return stamp_with_retention_time(file.get());
}

// Reads the rules at a workspace's last use. If the file cannot be read, the workspace never expires: data must not be
// removed by mistake.
policies::WorkspaceRules read_rules(int directory, const RelativePath& used) {
  policies::WorkspaceRules rules;
  auto file = open_beneath(directory, used, O_RDONLY);
  if (!file) return rules;
  auto text = read_complete(file->get(), kMaxRules);
  long long idle = 0, warning = 0;
  int read = 0;
  if (!text || std::sscanf(text->c_str(), "%lld %lld\n%n", &idle, &warning, &read) != 2 || idle < 0 || warning < 0 ||
      static_cast<size_t>(read) != text->size())
    return rules;
  rules.idle = seconds(idle);
  rules.warning = seconds(warning);
  return rules;
}

}  // namespace

Result<> mark_used(const Tenant& workspace, const policies::WorkspaceRules& rules) {
  TRY(RelativePath used, RelativePath::parse(kUsed));
  TRY(RelativePath warned, RelativePath::parse(kWarned));
  auto forgotten = unlink_beneath(workspace.directory(), warned, Removing::file);
  if (!forgotten && forgotten.error().code != Code::not_found) return forgotten;
  return note(workspace.directory(), used, fmt::format("{} {}\n", rules.idle.count(), rules.warning.count()));
}

Result<NamedWorkspaces> NamedWorkspaces::of(int tenant) {
  TRY(RelativePath path, RelativePath::parse(kNamedWorkspaces));
  auto directory = open_beneath(tenant, path, O_RDONLY | O_DIRECTORY);
  if (!directory && directory.error().code == Code::not_found) return NamedWorkspaces(Fd());
  if (!directory) return tl::unexpected<Error>(std::move(directory).error());
  return NamedWorkspaces(*std::move(directory));
}

Result<std::vector<std::string>> NamedWorkspaces::entries() const {
  if (!directory_) return std::vector<std::string>();
  TRY(auto names, read_names(FolderReader::at(directory_.get(), "workspaces")));
  if (names.size() > kMaxListed) names.resize(kMaxListed);
  return names;
}

Result<std::vector<NamedWorkspace>> NamedWorkspaces::list(const Rules& rules) const {
  std::vector<NamedWorkspace> all;
  TRY(auto names, entries());
  for (const std::string& name : names) {
    if (!policies::valid_workspace_name(name)) continue;
    NamedWorkspace workspace;
    workspace.name = name;
    TRY(RelativePath used, path_of(workspace.name, kUsed));
    TRY(RelativePath warned, path_of(workspace.name, kWarned));
    workspace.rules = rules ? *rules : read_rules(directory_.get(), used);
    workspace.idle = age_of(directory_.get(), used).value_or(seconds(0));
    if (auto since = age_of(directory_.get(), warned))
      workspace.removal = std::max(workspace.rules.warning - *since, seconds(0));
    all.push_back(std::move(workspace));
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return all;
}

Result<> NamedWorkspaces::check_room(std::string_view name, const policies::WorkspaceRules& rules) const {
  TRY(auto all, list(rules));
  if (std::any_of(all.begin(), all.end(), [&](const NamedWorkspace& workspace) { return workspace.name == name; }))
    return {};
  std::vector<std::string_view> reserved = {"default"};
  for (const NamedWorkspace& workspace : all) reserved.push_back(workspace.name);
  for (const std::string_view other : reserved) {
    if (name != other && is_same_word(name, other))
      return fail(Code::invalid,
                  fmt::format("the workspace '{}' differs from '{}' only in upper and lower case", name, other),
                  "use the existing workspace, or choose another name", "workspaces");
  }
  if (all.size() < rules.max) return {};
  return fail(Code::exhausted, fmt::format("there are already {} named workspaces", all.size()),
              "use an existing workspace, or ask the administrator to raise named_workspaces.max",
              "named_workspaces.max");
}

Result<std::vector<NamedWorkspace>> NamedWorkspaces::announce(const Rules& rules) const {
  TRY(auto all, list(rules));
  std::vector<NamedWorkspace> announced;
  for (NamedWorkspace& workspace : all) {
    if (workspace.removal || workspace.rules.idle.count() == 0 ||
        workspace.idle + workspace.rules.warning < workspace.rules.idle)
      continue;
    TRY(RelativePath warned, path_of(workspace.name, kWarned));
    CHECKED(note(directory_.get(), warned, ""));
    announced.push_back(std::move(workspace));
  }
  return announced;
}

// Renames the workspace first: after an incomplete removal, the rest does not look like a workspace.
Task<Result<>> NamedWorkspaces::remove(Loop& loop, std::string name) const {
  CO_TRY(RelativePath path, RelativePath::parse(name));
  CO_TRY(RelativePath aside, RelativePath::parse(std::string(kRemoved) + name));
  auto before = co_await remove_tree_in_turns(loop, directory_.get(), aside,
                                              kRemovalSlice);  // the rest of an earlier failed removal
  if (!before && before.error().code != Code::not_found) co_return before;
  CO_CHECKED(rename_beneath(directory_.get(), path, aside, Existing::refuse));
  co_return co_await remove_tree_in_turns(loop, directory_.get(), aside, kRemovalSlice);
}

Task<Result<>> NamedWorkspaces::finish_removals(Loop& loop) const {
  CO_TRY(auto names, entries());
  for (const std::string& name : names) {
    if (!name.starts_with(kRemoved)) continue;
    CO_TRY(RelativePath aside, RelativePath::parse(name));
    CO_CHECKED(co_await remove_tree_in_turns(loop, directory_.get(), aside, kRemovalSlice));
  }
  co_return Result<>{};
}

}  // namespace tenants
