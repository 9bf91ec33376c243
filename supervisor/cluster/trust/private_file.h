// Files of the cluster: private keys that only their owner can read, and files that are written whole or not at all.
// Used by: node_key.h, rule_store.h, `warder cluster`. All functions wait for the disk: on a worker thread or before
// the loop. Errors: denied: another user could have read or written the file, or the path leads through a link;
// not_found; exhausted: too large; those of base/path.h.
#pragma once
#include <sys/types.h>

#include <string>
#include <string_view>

#include "supervisor/base/path.h"

namespace cluster {

constexpr size_t kMaxPrivateFile = 4096;  // bytes

// The text of a regular file that belongs to this user or to root and has mode 0600 or 0400. No part of the path may be
// a symbolic link. Below $CREDENTIALS_DIRECTORY the mode may be 0440, too. The caller wipes the text.
Result<std::string> read_private_file(const std::string& path);
// The text of a regular file of at most `max_bytes`, which only root or this user may write.
Result<std::string> read_trusted_file(const std::string& path, size_t max_bytes);

// Writes the file in one step: a reader sees the old file, or the whole new one, which is on the disk. With
// Existing::refuse a file with this name is an error: invalid, naming the path.
Result<> write_whole_file(const std::string& path, std::string_view text, mode_t mode, Existing existing);

}  // namespace cluster
