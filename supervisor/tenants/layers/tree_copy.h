// copy_layer_tree(): copies a stranger's tree as the tree of a layer: files of this process's user, readable by all,
// writable by their owner, with fixed modes and times. Not copied: owners, extended attributes, and the mode bits that
// a layer does not have.
// Used by: layer_store.cc. Errors: those of scan_tree() (tree_scan.h), by name, before the file is copied; invalid for
// set-id modes.
#pragma once
#include "supervisor/base/result.h"

namespace layers {

// `from`: a folder that is open for reading. `to`: an empty folder.
Result<> copy_layer_tree(int from, int to);

}  // namespace layers
