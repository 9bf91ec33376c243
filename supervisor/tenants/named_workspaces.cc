#include "supervisor/tenants/named_workspaces.h"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <memory>

#include "supervisor/base/loop.h"
#include "supervisor/tenants/tenant.h"

namespace tenants {
namespace {

using std::chrono::seconds;

constexpr size_t kMostListed = 100'000;
constexpr unsigned kRemovalSlice = 200;  // operations of a removal before others have their turn
constexpr char kUsed[] = "used", kWarned[] = "warned";

Result<RelativePath> path_of(std::string_view name, std::string_view file) {
  return RelativePath::parse(std::string(name) + "/" + std::string(file));
}

// How long ago; nothing when there is no such file.
std::optional<seconds> age_of(int directory, const RelativePath& path) {
  auto status = stat_beneath(directory, path);
  if (!status) return std::nullopt;
  return seconds(std::max<time_t>(std::time(nullptr) - status->st_mtime, 0));
}

Result<> touch(int directory, const RelativePath& path) {
  TRY(Fd file, open_beneath(directory, path, O_WRONLY | O_CREAT, 0600));
  if (::futimens(file.get(), nullptr) < 0) return fail_errno(errno, "note the use of a workspace");
  return {};
}

}  // namespace

Result<> mark_used(const Tenant& workspace) {
  TRY(RelativePath used, RelativePath::parse(kUsed));
  TRY(RelativePath warned, RelativePath::parse(kWarned));
  auto forgotten = unlink_beneath(workspace.directory(), warned, Removing::file);
  if (!forgotten && forgotten.error().code != Code::not_found) return forgotten;
  return touch(workspace.directory(), used);
}

Result<NamedWorkspaces> NamedWorkspaces::of(const Tenant& tenant) {
  TRY(RelativePath path, RelativePath::parse(kNamedWorkspaces));
  auto directory = open_beneath(tenant.directory(), path, O_RDONLY | O_DIRECTORY);
  if (!directory && directory.error().code == Code::not_found) return NamedWorkspaces(Fd());
  if (!directory) return tl::unexpected<Error>(std::move(directory).error());
  return NamedWorkspaces(*std::move(directory));
}

Result<std::vector<NamedWorkspace>> NamedWorkspaces::list(const policies::WorkspaceRules& rules) const {
  std::vector<NamedWorkspace> all;
  if (!directory_) return all;
  TRY(Fd folder, open_beneath(directory_.get(), RelativePath(), O_RDONLY | O_DIRECTORY));
  std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(folder.get()), ::closedir);
  if (!entries) return fail_errno(errno, "list workspaces");
  static_cast<void>(folder.release());  // the stream's now
  while (const dirent* entry = ::readdir(entries.get())) {
    if (!policies::valid_name(entry->d_name) || all.size() >= kMostListed) continue;
    NamedWorkspace one;
    one.name = entry->d_name;
    TRY(RelativePath used, path_of(one.name, kUsed));
    TRY(RelativePath warned, path_of(one.name, kWarned));
    one.idle = age_of(directory_.get(), used).value_or(seconds(0));
    if (auto since = age_of(directory_.get(), warned)) one.removal = std::max(rules.warning - *since, seconds(0));
    all.push_back(std::move(one));
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return all;
}

Result<> NamedWorkspaces::check_room(std::string_view name, const policies::WorkspaceRules& rules) const {
  TRY(auto all, list(rules));
  if (std::any_of(all.begin(), all.end(), [&](const NamedWorkspace& one) { return one.name == name; })) return {};
  if (all.size() < rules.most) return {};
  return fail(Code::exhausted, fmt::format("there are {} named workspaces already", all.size()),
              "use one of them, or ask the administrator to raise named_workspaces.most", "named_workspaces.most");
}

Result<std::vector<std::string>> NamedWorkspaces::announce(const policies::WorkspaceRules& rules) const {
  std::vector<std::string> names;
  if (rules.idle.count() == 0) return names;
  TRY(auto all, list(rules));
  for (const NamedWorkspace& one : all) {
    if (one.removal || one.idle + rules.warning < rules.idle) continue;
    TRY(RelativePath warned, path_of(one.name, kWarned));
    CHECKED(touch(directory_.get(), warned));
    names.push_back(one.name);
  }
  return names;
}

// First out of the way: a removal that stops half-way leaves nothing that looks like a workspace.
Task<Result<>> NamedWorkspaces::remove(Loop& loop, std::string name) const {
  CO_TRY(RelativePath path, RelativePath::parse(name));
  CO_TRY(RelativePath aside, RelativePath::parse(".removed-" + name));
  (void)remove_tree_beneath(directory_.get(), aside);
  CO_CHECKED(rename_beneath(directory_.get(), path, aside, Existing::refuse));
  CO_TRY(TreeRemoval removal, TreeRemoval::begin(directory_.get(), aside));
  for (;;) {
    CO_TRY(bool done, removal.step(kRemovalSlice));
    if (done) co_return Result<>{};
    co_await next_turn(loop);
  }
}

}  // namespace tenants
