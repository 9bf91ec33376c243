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

// Whether the directory is in the project, or can be put into it with all that it will have. A directory that cannot be
// read is an error: with files outside of the project, the workspace could never join it later.
Result<bool> can_join(int directory, const char* name, uint32_t project) {
  const auto current = project_of(directory);
  if (!current || *current != 0) return current && *current == project;
  TRY(const bool has_files, has_entries(FolderReader::at(directory, name)));
  return !has_files;
}

}  // namespace

Result<std::optional<uint32_t>> join_project(int workspace, int unfinished, int staging) {
  const std::optional<uint32_t> no_project;
  struct stat info {};
  if (!project_quota_enforced(workspace) || ::fstat(workspace, &info) < 0 || info.st_ino >= kFirstProject)
    return no_project;
  const uint32_t project = kFirstProject + static_cast<uint32_t>(info.st_ino);
  TRY(const bool workspace_can, can_join(workspace, "workspace", project));
  TRY(const bool staging_can, can_join(staging, "staging", project));
  if (!workspace_can || !staging_can) return no_project;
  // The workspace comes last: if it has the project, the others have the project, too.
  if (!set_project(unfinished, project) || !set_project(staging, project) || !set_project(workspace, project))
    return no_project;
  return std::optional(project);
}

ProjectLimits wall_behind(QuotaLimits account) {
  return {account.bytes + account.files * kBlock + kReplaced, account.files + kFolders + kStagingFolders + 1};
}

}  // namespace tenants
