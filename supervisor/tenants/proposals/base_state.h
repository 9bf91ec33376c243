// BaseStamp: one entry of the workspace as it was at a moment, to find out later whether it was changed. A folder that
// is replaced or removed as a whole has a digest over all entries below it. A small file has a digest of its bytes: a
// file that was written again with the same bytes is not changed.
// Source: the workspace when a program ended, or after a commit. Used by: conflicts.cc, commit.cc. Errors: those of
// base/path.h; exhausted, a folder with too many entries.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "supervisor/base/result.h"
#include "supervisor/tenants/index/walk.h"
#include "supervisor/tenants/proposals/tree_access.h"

namespace proposals {

constexpr uint64_t kMaxEntries = 200'000;        // of one proposal, of all folders that it touches
constexpr uint64_t kMaxHashedFile = 1 << 20;     // bytes of a file whose contents are compared
constexpr uint64_t kMaxHashedBytes = 128 << 20;  // of all files of one proposal; later files have stamps only
constexpr size_t kDigestBytes = 32;

struct BaseStamp {
  std::optional<tenants::FileKind> kind;  // nullopt: no entry has this name
  FileIdentity identity;
  uint64_t size = 0;
  uint32_t mode = 0;
  int64_t mtime_ns = 0, ctime_ns = 0;
  std::string digest;  // kDigestBytes, or empty
};

// What stamp_of() may still read.
struct StampBudget {
  uint64_t entries = kMaxEntries;
  uint64_t hashed_bytes = kMaxHashedBytes;
};

enum class StampDepth {
  entry,     // the entry alone: for a folder whose entries have steps of their own
  contents,  // with the digest of a folder or of a small file
};
// The stamp of the entry at `path` now.
Result<BaseStamp> stamp_of(int root, const std::string& path, StampDepth depth, StampBudget& budget);

// How the entry differs from the stamp: "it was created meanwhile", "it was removed meanwhile", "it was changed
// meanwhile", or empty. Reads as many files as the stamp needs. Errors: as above.
Result<std::string> difference_from(const BaseStamp& then, int root, const std::string& path, StampDepth depth,
                                    StampBudget& budget);

// A digest over names, kinds, inodes, sizes and times of all entries below a folder. `ctime`: with the time that a
// program cannot set.
enum class DigestTimes { mtime, mtime_and_ctime };
Result<std::string> digest_below(int root, const std::string& path, DigestTimes times, uint64_t& remaining_entries);

}  // namespace proposals
