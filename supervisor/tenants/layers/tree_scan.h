// Reading the tree of a layer from disk: its manifest, and its fingerprint.
// Used by: layer_store.cc; by the builder for a tree that an unprivileged process has unpacked, which may change while
// it is read. Waits for the disk. Errors: invalid: an entry that entry_rules.h refuses, devices, sockets and FIFOs, by
// name; exhausted: a bound of manifest.h; those of the system.
#pragma once
#include <string>

#include "supervisor/base/result.h"
#include "supervisor/base/tree.h"
#include "supervisor/tenants/layers/manifest.h"

namespace layers {

// Returns the entries below `tree` (a descriptor that is open for reading), with the hashes of all files. The bounds
// and rules of a layer are checked before a file is read.
Result<Manifest> scan_tree(int tree);

// The fingerprint of a tree: a hash of names, sizes, inode numbers, modes and times of all entries. It takes a
// fiftieth of the time of scan_tree(), and changes if any file is written, replaced, added or removed. It is not part
// of the layer's identity: another machine or a restored backup has other inode numbers.
Result<std::string> fingerprint_of(int tree);

// walk_tree() within the bounds of a layer.
Result<> walk_layer(int tree, const VisitEntry& visit);
// The size of a regular file; 0 for other entries.
uint64_t file_bytes(const TreeEntry& entry);
// The target of a link, at most one byte more than a layer allows.
Result<std::string> target_of_link(const TreeEntry& entry);

}  // namespace layers
