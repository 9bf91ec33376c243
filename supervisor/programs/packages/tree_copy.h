// copy_tree(): copies a stranger's tree of files to a folder of root's, as plain files: readable by all, writable by
// root alone. Symbolic links, devices, sockets, set-id modes and owners are not copied, nor a file with several names
// (hard links) that belongs to another user than the tree: a user can give a second name to another user's file.
// Names and links of the tree lead nowhere else. Used by: npm_package.cc. Errors: exhausted: too many or too large
// files, too deep; denied, and others of path.h.
#pragma once
#include <cstdint>
#include <string>

#include "supervisor/base/result.h"

namespace packages {

struct TreeLimits {
  uint64_t bytes = uint64_t{2} << 30;
  uint64_t entries = 200'000;
  unsigned depth = 64;
};
struct CopiedTree {
  uint64_t bytes = 0, entries = 0;
  uint64_t left_out = 0;  // links and special files
  uint64_t opened = 0;    // files that not all users could read before
};

// `from`: descriptor of the tree's folder. `to`: an empty folder of this process's user.
Result<CopiedTree> copy_tree(int from, int to, const TreeLimits& limits = {});

// Whether two trees that copy_tree() made have the same names, bytes and modes. False, too, if a file cannot be opened.
// Errors: a folder or file cannot be read to its end.
Result<bool> is_same_tree(int a, int b);

// Whether a tree is over a limit, in bytes on the disk. Programs may still be writing it: a folder that is removed
// meanwhile counts as empty. Errors: a folder cannot be read to its end.
Result<bool> is_over_limits(int folder, const TreeLimits& limits);

}  // namespace packages
