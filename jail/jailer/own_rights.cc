#include "jail/jailer/own_rights.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "jail/init/capabilities.h"
#include "jail/short_text.h"

namespace jail {
namespace {

// Capabilities by job: map ids (SETUID, SETGID); mount with mapped ids, enter mount namespaces, limit projects
// (SYS_ADMIN, SYS_CHROOT); pin oom_score_adj (SYS_RESOURCE); end jails of other ids (KILL).
constexpr int kNeeded[] = {CAP_SETUID, CAP_SETGID, CAP_SYS_ADMIN, CAP_SYS_CHROOT, CAP_SYS_RESOURCE, CAP_KILL};

struct Capabilities {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct words[2]{};
};

}  // namespace

Result<> keep_needed_rights(std::optional<uint32_t> group) {
  if (group && ::syscall(SYS_setgroups, 0, nullptr) < 0) return fail_errno(errno, "setgroups");
  if (group && ::setresgid(*group, *group, *group) < 0) return fail_errno(errno, "setresgid");
  uint64_t needed = 0;
  for (const int capability : kNeeded) needed |= init::bit_of(capability);
  if (const int error = init::limit_bounding_set(needed)) return fail_errno(error, "drop a bounding capability");
  if (::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
    return fail_errno(errno, "clear the ambient capabilities");
  Capabilities before, saved;
  if (::syscall(SYS_capget, &before.header, before.words) < 0) return fail_errno(errno, "capget");
  for (const int capability : kNeeded) {
    const uint32_t bit = 1u << capability % 32;
    if (before.words[capability / 32].permitted & bit) {
      saved.words[capability / 32].permitted |= bit;
      saved.words[capability / 32].effective |= bit;
    } else if (capability != CAP_SYS_RESOURCE) {
      ShortText<64> text;
      text << "the daemon was started without capability " << static_cast<uint64_t>(capability);
      return fail(Code::unavailable, text.c_str(), "add the capability to CapabilityBoundingSet= of the service");
    }
    // Containers and some machines withhold CAP_SYS_RESOURCE. Then jailed code can lower its oom_score_adj again.
  }
  if (::syscall(SYS_capset, &saved.header, saved.words) < 0) return fail_errno(errno, "capset");
  // A change of the group makes this process non-dumpable. It could then not open the files of its children below
  // /proc, which are non-dumpable, too.
  if (::prctl(PR_SET_DUMPABLE, 1) < 0) return fail_errno(errno, "prctl PR_SET_DUMPABLE");
  return {};
}

}  // namespace jail
