// The reserve: a file of allocated blocks in the journal's folder. When the disk is full, the daemon removes it and
// writes its records into that space; when space is back, it makes the file again.
// It is a few MiB: a 64th of the disk, at least 256 KiB and at most 16 MiB. A file system that writes every change to
// new blocks (copy-on-write) cannot promise that a removed file gives its space back; there is no reserve on it.
// Used by: supervisor/records/disk/state_disk.cc. All functions wait for the disk.
#pragma once
#include <cstdint>
#include <string>

#include "supervisor/base/result.h"

namespace journal {

// Makes the file in `folder`, or leaves it as it is, and returns its size in bytes. Errors: exhausted: there is too
// little free space; unsupported by the file system: unavailable, with the reason.
Result<uint64_t> make_reserve(const std::string& folder);
// Gives the space back. Errors: those of unlink(2).
Result<> release_reserve(const std::string& folder);

// The name of a file system on which a reserve is of no use, by its magic number of statfs(2); nullptr: it is of use.
const char* name_of_copy_on_write(uint64_t file_system);

}  // namespace journal
