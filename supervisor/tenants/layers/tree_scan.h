// Reading the tree of a layer from disk: its manifest, and its fingerprint.
// Used by: layer_store.cc; by the builder for a tree that an unprivileged process has unpacked, which may change while
// it is read. Waits for the disk. Errors: invalid: an entry that entry_rules.h refuses, devices, sockets and FIFOs, by
// name; exhausted: a bound of manifest.h; those of the system.
#pragma once
#include <functional>
#include <string>

#include "supervisor/base/result.h"
#include "supervisor/tenants/layers/manifest.h"

namespace layers {

// Returns the entries below `tree` (a descriptor that is open for reading), with the hashes of all files. The bounds
// and rules of a layer are checked before a file is read.
Result<Manifest> scan_tree(int tree);

// The fingerprint of a tree: a hash of names, sizes, inode numbers, modes and times of all entries. It takes a
// fiftieth of the time of scan_tree(), and changes if any file is written, replaced, added or removed. It is not part
// of the layer's identity: another machine or a restored backup has other inode numbers.
Result<std::string> fingerprint_of(int tree);

// EntryStatus: one entry while a tree is walked. `parent` is the open folder that has it.
struct WalkedEntry {
  int parent;
  std::string name;
  std::string path;  // relative to the tree
  uint64_t inode, bytes, links;
  uint32_t mode;  // with the file type: S_ISDIR(mode)
  uint32_t owner;
  int64_t modified_ns, changed_ns;
};
// Calls `visit` for each entry, folders before their contents, in the order of bytes within a folder. Never follows a
// link. The first error ends the walk.
Result<> walk_tree(int tree, const std::function<Result<>(const WalkedEntry& entry)>& visit);

}  // namespace layers
