// HeldFiles: the files without a name that the processes of one jail hold, and the bytes that these have written. No
// name shows these files (O_TMPFILE, or unlinked while open), but they take space until they are closed and unmapped.
// Source: jail/jailer/file_count.h. Used by: jail/jailer_client/jailer_client.h, jail/usage/disk_users.h.
#pragma once
#include <cstdint>

namespace jail {

struct HeldFiles {
  uint64_t bytes = 0;    // disk space of the files, each counted once
  uint64_t files = 0;    // inodes without a name, also folders and FIFOs
  uint64_t written = 0;  // bytes that the processes, and children that they waited for, have written since their begin
  bool is_partial =
      false;               // there are more processes, descriptors or mappings than are read: the numbers are too small
  bool is_denied = false;  // the kernel did not show one of the processes
};

}  // namespace jail
