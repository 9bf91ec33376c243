// Judges whether staged executions work here: their workspace is the lower layer of an overlay, and the folder of their
// changes its upper layer (Linux, Documentation/filesystems/overlayfs.rst).
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#include "supervisor/operations/doctor/doctor.h"

namespace doctor {
namespace {

// A file system that cannot be an upper layer; nullptr: it can, as far as its kind tells.
const char* unfit_file_system(uint64_t magic) {
  if (magic == OVERLAYFS_SUPER_MAGIC) return "overlayfs";
  return magic == NFS_SUPER_MAGIC ? "NFS" : nullptr;
}

}  // namespace

uint64_t file_system_of(const std::string& folder) {
  struct statfs seen {};
  return ::statfs(folder.c_str(), &seen) == 0 ? static_cast<uint64_t>(seen.f_type) : 0;
}

Finding judge_staging(const Staging& seen) {
  const std::string subject = "staging", names = fmt::format("{}", fmt::join(seen.policies, ", "));
  const Health health = seen.is_always_staged ? Health::bad : Health::note;
  const std::string instead = R"(, or set "workspace": {"mode": "direct", "choose": false} in these policies)";
  const std::string effect = fmt::format("staged executions (policies: {}) are refused", names);
  if (!seen.bind_root_why.empty())
    return {subject, health, fmt::format("{}: jails here cannot mount an overlay: {}", effect, seen.bind_root_why),
            "load the module overlay, with Linux 5.11 or later; in a container, let it mount overlays" + instead};
  if (const char* unfit = unfit_file_system(seen.file_system))
    return {subject, health,
            fmt::format("{}: {} is on {}, which cannot hold their changes", effect, seen.folder, unfit),
            "keep the state folder on ext4, XFS, Btrfs or tmpfs, in a container on a volume" + instead};
  return {subject, Health::good, fmt::format("policies that stage workspaces: {}", names), {}};
}

}  // namespace doctor
