// mount_staged(): mounts a workspace in a jail as the lower layer of an overlay, so that a program's changes go into a
// staging folder and the workspace stays as it is.
// Who mounts: a child of the jailer, in the jail's own user and mount namespaces. The initial namespace would need
// CAP_DAC_OVERRIDE, which the jailer does not have: overlayfs makes its work folder with mode 000. The child takes the
// file system ids of the code, because overlayfs does all work in the upper layer with its mounter's ids; with an id
// that the layers do not map, the mount would succeed and be read-only (measured on 6.1, 6.12 and 6.18).
// Both layers are mounted first, one below the other, because detached mounts are no layers before Linux 6.15. They
// stay mounted below the overlay: no path leads to them, and unmounting waits for a grace period of RCU. Sources:
// overlayfs.rst, mount(2), fsopen(2), setns(2). Used by: jail/jailer/jailer.cc.
#pragma once
#include <cstdint>

namespace jail {

struct StagedMount {
  int init = -1;         // pidfd of the jail's init
  int workspace = -1;    // detached mount of the workspace, read-only
  int staging = -1;      // detached mount of the staging folder
  uint32_t code_id = 0;  // uid and gid of the code in the jail's user namespace
};
// Returns 0, or a positive errno: EROFS when the overlay cannot be written, ENOTSUP when the result is no overlay.
int mount_staged(const StagedMount& mount);

}  // namespace jail
