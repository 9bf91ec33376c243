#include "supervisor/tenants/project.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <memory>

#include "supervisor/base/directory_stream.h"
#include "supervisor/base/path.h"

namespace tenants {
namespace {

constexpr uint64_t kBlock = 4096;
constexpr uint64_t kReplaced = 64 << 20;  // bytes; a replaced file is at most this large, as no request is longer
constexpr uint64_t kFolders = 2;

bool is_empty(int directory) {
  auto opened = open_beneath(directory, RelativePath(), O_RDONLY | O_DIRECTORY);
  if (!opened) return false;
  const DirectoryStream entries = stream_of(*std::move(opened));
  if (!entries) return false;
  while (const dirent* entry = ::readdir(entries.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") return false;
  }
  return true;
}

}  // namespace

std::optional<uint32_t> join_project(int workspace, int unfinished) {
  struct stat info {};
  if (!project_quota_enforced(workspace) || ::fstat(workspace, &info) < 0 || info.st_ino >= kFirstProject)
    return std::nullopt;
  const uint32_t project = kFirstProject + static_cast<uint32_t>(info.st_ino);
  const auto current = project_of(workspace);
  if (!current) return std::nullopt;
  if (*current != project && (*current != 0 || !is_empty(workspace))) return std::nullopt;
  // The workspace comes last: if it has the project, `unfinished` has the project, too.
  if (!set_project(unfinished, project) || !set_project(workspace, project)) return std::nullopt;
  return project;
}

ProjectLimits wall_behind(QuotaLimits account) {
  return {account.bytes + account.files * kBlock + kReplaced, account.files + kFolders + 1};
}

}  // namespace tenants
