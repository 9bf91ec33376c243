// UpperLayer: what a program changed in its view of a workspace, as steps that a commit makes. A new folder, or a
// folder that replaces another one, is one step with all its contents.
// Source: the upper folder of an overlay that is mounted no longer, beside the workspace, its lower folder. A hostile
// program wrote the upper folder. Reading cleans it: the marks of overlayfs and the whiteouts in new folders go, and so
// do FIFOs, sockets and devices, which no commit may bring into a workspace. Only stripped entries are moved later.
// Used by: proposal_folder.cc. Errors: those of base/path.h.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "supervisor/base/result.h"
#include "supervisor/tenants/proposals/base_state.h"
#include "supervisor/tenants/proposals/tree_access.h"

namespace proposals {

enum class StepKind : uint8_t {
  create,   // an entry gets a free name
  replace,  // an entry takes the place of another one
  remove,
  mode,  // a folder that stays gets another mode
};

// FreshEntry: an entry of the upper folder as it was when it was read; only the daemon can reach it since then. If it
// differs later, the disk has lost data: the overlay syncs no file.
struct FreshEntry {
  FileIdentity identity;
  tenants::FileKind kind = tenants::FileKind::other;
  uint64_t size = 0;     // 0 for a folder
  uint32_t mode = 0;     // permission bits; of kind `mode`: the folder's new mode
  int64_t mtime_ns = 0;  // 0 for a folder
  std::string digest;    // of a folder: over its contents
  bool operator==(const FreshEntry&) const = default;
};

struct StagedStep {
  StepKind kind = StepKind::create;
  std::string path;      // in the workspace and in the upper folder; bytes as they are on disk
  FreshEntry fresh;      // kind `remove`: empty
  BaseStamp base;        // of the workspace when the program ended
  bool is_torn = false;  // the program changed a folder that another program removed meanwhile
};

struct UpperLayer {
  std::vector<StagedStep> steps;     // sorted: a folder's mode before the steps in it
  std::vector<std::string> refused;  // paths of FIFOs, sockets, devices and damaged entries; they are deleted
  uint64_t refused_count = 0;        // `refused` has the first kMaxRefused of them
  uint64_t entries = 0;              // in the upper folder
  uint64_t bytes = 0;                // that its files cost
  std::string problem;               // why nothing of it can be committed: too many entries, too deep. Empty: it can
};

constexpr size_t kMaxRefused = 200;
constexpr uint64_t kMaxComparedBytes = 64 << 20;  // of copies that may be unchanged; later ones count as changed

// `upper` and `workspace`: open folders. `max_entries`: see UpperLayer::problem.
Result<UpperLayer> read_upper_layer(int upper, int workspace, uint64_t max_entries = kMaxEntries);
// An entry of a staging folder as it is now.
Result<FreshEntry> fresh_entry(int root, const std::string& path, uint64_t& remaining_entries);

}  // namespace proposals
