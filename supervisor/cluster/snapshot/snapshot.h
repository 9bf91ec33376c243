// Snapshots: all data of one workspace as one file, tar in zstd: with it a workspace moves to another node, or is
// parked in a folder. In the tar file:
//   label.json      SnapshotLabel
//   records.jsonl   what the journal has of the workspace; the caller's form
//   folder/...      the workspace's folder in tenants/: files, output, sessions' logs, skills, vault
// Of files it has: names, permissions, times, holes, hard links, symbolic links, FIFOs. Sockets are left out. Owners
// are left out: the daemon owns all. A snapshot to unpack is hostile input: it comes from another machine. Names stay
// below the target folder, nothing that exists is replaced, and the limits hold before data is written. Both functions
// wait for a disk: call them on a worker thread. Used by: supervisor/daemon/. Errors: invalid, naming the entry;
// exhausted: a limit, or the disk; unavailable: `stop` returned true.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "supervisor/base/result.h"

namespace cluster {

constexpr size_t kMaxRecords = 64 << 20;  // bytes of records.jsonl

struct SnapshotLabel {
  std::string account, workspace;   // of the TenantId
  std::string node;                 // the home when it was made
  uint64_t epoch = 0;               // of that home
  int64_t created_ms = 0;           // since 1970
  std::string policy, policy_hash;  // under which the workspace was used; empty: not known
  // The key of a parked file's vault, encrypted for each node (home_orders.h). Empty: it has no vault.
  std::map<std::string, std::string> vault_keys = {};
};

struct PackedSnapshot {
  uint64_t bytes = 0;    // of the file
  std::string sha256;    // of the file
  uint64_t entries = 0;  // files, folders and links
  uint64_t content = 0;  // bytes in files
};
struct SnapshotSource {
  SnapshotLabel label;
  std::string records;
  int folder = -1;                    // O_PATH is enough
  std::vector<std::string> left_out;  // entries of the folder
};
using StopRequested = std::function<bool()>;
// Writes to `file` from its position on. What the daemon's user may not read is made readable for the moment.
Result<PackedSnapshot> pack_snapshot(int file, const SnapshotSource& source, const StopRequested& stop);

struct UnpackLimits {
  uint64_t bytes = 0, entries = 0;                      // of all
  uint64_t workspace_bytes = 0, workspace_entries = 0;  // of these, in folder/workspace
  size_t name_bytes = 64 << 20;                         // of all names and targets of links, which are in memory
};
struct UnpackedSnapshot {
  SnapshotLabel label;
  std::string records;
};
// Reads the label only. `file` is read from its position on.
Result<SnapshotLabel> read_snapshot_label(int file);
// Unpacks the entries below folder/ into `into` (O_PATH is enough), in which only empty folders may exist.
Result<UnpackedSnapshot> unpack_snapshot(int file, int into, const UnpackLimits& limits, const StopRequested& stop);

}  // namespace cluster
