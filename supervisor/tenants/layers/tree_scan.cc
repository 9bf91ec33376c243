#include "supervisor/tenants/layers/tree_scan.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sodium.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "supervisor/base/log.h"
#include "supervisor/base/path.h"
#include "supervisor/tenants/layers/entry_rules.h"

namespace layers {
namespace {

std::string digits_of(const std::array<unsigned char, crypto_hash_sha256_BYTES>& hash) {
  std::array<char, crypto_hash_sha256_BYTES * 2 + 1> digits{};
  sodium_bin2hex(digits.data(), digits.size(), hash.data(), hash.size());
  return digits.data();
}

// Reads the whole file; `bytes` is the size that it must have.
Result<std::string> hash_of_file(const TreeEntry& entry) {
  TRY(const Fd file, open_listed_beneath(entry.folder, entry.name, O_RDONLY));
  crypto_hash_sha256_state state;
  crypto_hash_sha256_init(&state);
  const tl::unexpected<Error> changed =
      fail(Code::unavailable, fmt::format("'{}' changed while it was read", printable(entry.path, 200)));
  uint64_t read = 0;
  CHECKED(read_parts(file.get(), entry.path, [&](std::string_view part) -> Result<> {
    read += part.size();
    if (read > file_bytes(entry)) return changed;
    crypto_hash_sha256_update(&state, reinterpret_cast<const unsigned char*>(part.data()), part.size());
    return {};
  }));
  if (read != file_bytes(entry)) return changed;
  std::array<unsigned char, crypto_hash_sha256_BYTES> hash{};
  crypto_hash_sha256_final(&state, hash.data());
  return digits_of(hash);
}

Result<LayerEntry> entry_of(const TreeEntry& walked) {
  LayerEntry entry;
  entry.path = walked.path;
  const mode_t mode = walked.status.st_mode;
  entry.mode = mode & 07777;
  if (S_ISDIR(mode)) {
    entry.kind = EntryKind::folder;
  } else if (S_ISLNK(mode)) {
    entry.kind = EntryKind::link;
    TRY(entry.target, target_of_link(walked));
  } else if (S_ISREG(mode)) {
    entry.bytes = file_bytes(walked);
  } else {
    return fail(Code::invalid,
                fmt::format("'{}' is refused: it is a device, a socket or a FIFO", printable(walked.path, 200)));
  }
  return entry;
}

}  // namespace

Result<> walk_layer(int tree, const VisitEntry& visit) {
  TRY(const TreeWalkEnd end, walk_tree(tree, {kMaxLayerEntries, kMaxLayerDepth}, VanishedEntries::fail, visit));
  if (end.exceeded == TreeBound::entries)
    return fail(Code::exhausted, fmt::format("a layer has at most {} files and folders", kMaxLayerEntries),
                "make several layers of fewer packages");
  if (end.exceeded == TreeBound::depth)
    return fail(Code::exhausted,
                fmt::format("'{}' is nested deeper than {} folders", printable(end.folder, 200), kMaxLayerDepth));
  return {};
}

uint64_t file_bytes(const TreeEntry& entry) {
  return S_ISREG(entry.status.st_mode) ? static_cast<uint64_t>(entry.status.st_size) : 0;
}

Result<std::string> target_of_link(const TreeEntry& entry) {
  return read_link_at(entry.folder, entry.name, entry.path, kMaxLayerPathBytes + 1);
}

Result<Manifest> scan_tree(int tree) {
  Manifest manifest;
  uint64_t bytes = 0;
  CHECKED(walk_layer(tree, [&](const TreeEntry& walked) -> Result<> {
    TRY(LayerEntry entry, entry_of(walked));
    CHECKED(check_entry(entry));
    bytes += entry.bytes;
    if (bytes > kMaxLayerBytes)
      return fail(Code::exhausted, fmt::format("a layer has at most {} GiB", kMaxLayerBytes >> 30),
                  "make several layers of fewer packages");
    if (entry.kind == EntryKind::file) {
      TRY(entry.sha256, hash_of_file(walked));
    }
    manifest.entries.push_back(std::move(entry));
    return {};
  }));
  // A walk sorts each folder; whole paths have another order, because '/' comes after '-' and '.'.
  std::sort(manifest.entries.begin(), manifest.entries.end(),
            [](const LayerEntry& a, const LayerEntry& b) { return a.path < b.path; });
  return manifest;
}

Result<std::string> fingerprint_of(int tree) {
  crypto_hash_sha256_state state;
  crypto_hash_sha256_init(&state);
  CHECKED(walk_layer(tree, [&state](const TreeEntry& entry) -> Result<> {
    const struct stat& status = entry.status;
    const std::string line =
        fmt::format("{:o} {} {} {} {} {} {}\n{}\n", status.st_mode, status.st_uid, file_bytes(entry), status.st_ino,
                    status.st_nlink, nanoseconds_of(status.st_mtim), nanoseconds_of(status.st_ctim), entry.path);
    crypto_hash_sha256_update(&state, reinterpret_cast<const unsigned char*>(line.data()), line.size());
    return {};
  }));
  std::array<unsigned char, crypto_hash_sha256_BYTES> hash{};
  crypto_hash_sha256_final(&state, hash.data());
  return digits_of(hash);
}

}  // namespace layers
