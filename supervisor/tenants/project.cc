#include "supervisor/tenants/project.h"

#include <sys/stat.h>

#include "supervisor/base/folder.h"
#include "supervisor/base/path.h"

namespace tenants {
namespace {

constexpr uint64_t kBlock = 4096;
constexpr uint64_t kReplaced = 64 << 20;  // bytes; a replaced file is at most this large, as no request is longer
constexpr uint64_t kFolders = 3;
constexpr uint64_t kStagingFolders = 32;  // entries of staging folders that wait, and records of proposals

bool is_empty(int directory) {
  const auto has_some = has_entries(FolderReader::at(directory, "."));
  return has_some && !*has_some;
}

// Whether the directory is in the project, or can be put into it with all that it will have.
bool can_join(int directory, uint32_t project) {
  const auto current = project_of(directory);
  return current && (*current == project || (*current == 0 && is_empty(directory)));
}

}  // namespace

std::optional<uint32_t> join_project(int workspace, int unfinished, int staging) {
  struct stat info {};
  if (!project_quota_enforced(workspace) || ::fstat(workspace, &info) < 0 || info.st_ino >= kFirstProject)
    return std::nullopt;
  const uint32_t project = kFirstProject + static_cast<uint32_t>(info.st_ino);
  if (!can_join(workspace, project) || !can_join(staging, project)) return std::nullopt;
  // The workspace comes last: if it has the project, the others have the project, too.
  if (!set_project(unfinished, project) || !set_project(staging, project) || !set_project(workspace, project))
    return std::nullopt;
  return project;
}

ProjectLimits wall_behind(QuotaLimits account) {
  return {account.bytes + account.files * kBlock + kReplaced, account.files + kFolders + kStagingFolders + 1};
}

}  // namespace tenants
