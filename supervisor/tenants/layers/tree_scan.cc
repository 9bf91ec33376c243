#include "supervisor/tenants/layers/tree_scan.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "supervisor/base/folder.h"
#include "supervisor/base/log.h"
#include "supervisor/base/path.h"
#include "supervisor/tenants/layers/entry_rules.h"

namespace layers {
namespace {

constexpr size_t kReadPart = 256 << 10;

std::string digits_of(const std::array<unsigned char, crypto_hash_sha256_BYTES>& hash) {
  std::array<char, crypto_hash_sha256_BYTES * 2 + 1> digits{};
  sodium_bin2hex(digits.data(), digits.size(), hash.data(), hash.size());
  return digits.data();
}

int64_t nanoseconds_of(const timespec& time) { return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

Result<std::vector<std::string>> names_in_order(int folder, const std::string& path, size_t remaining) {
  auto names = read_names(FolderReader::at(folder, path.empty() ? "." : path), remaining);
  if (!names && names.error().code == Code::exhausted && names.error().err == 0)
    return fail(Code::exhausted, fmt::format("a layer has at most {} files and folders", kMaxLayerEntries),
                "make several layers of fewer packages");
  return names;
}

class TreeWalk {
 public:
  explicit TreeWalk(const std::function<Result<>(const WalkedEntry&)>& visit) : visit_(visit) {}

  Result<> folder(int folder, const std::string& path, size_t depth) {
    if (depth > kMaxLayerDepth)
      return fail(Code::exhausted,
                  fmt::format("'{}' is nested deeper than {} folders", printable(path, 200), kMaxLayerDepth));
    TRY(const auto names, names_in_order(folder, path, kMaxLayerEntries - seen_));
    seen_ += names.size();
    for (const std::string& name : names) {
      struct stat status {};
      if (::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) < 0) return fail_path(errno, "look at", name);
      WalkedEntry entry{folder,
                        name,
                        path.empty() ? name : path + "/" + name,
                        status.st_ino,
                        S_ISREG(status.st_mode) ? static_cast<uint64_t>(status.st_size) : 0,
                        status.st_nlink,
                        status.st_mode,
                        status.st_uid,
                        nanoseconds_of(status.st_mtim),
                        nanoseconds_of(status.st_ctim)};
      CHECKED(visit_(entry));
      if (!S_ISDIR(status.st_mode)) continue;
      TRY(const Fd inner, open_listed_beneath(folder, name, O_RDONLY | O_DIRECTORY));
      CHECKED(this->folder(inner.get(), entry.path, depth + 1));
    }
    return {};
  }

 private:
  const std::function<Result<>(const WalkedEntry&)>& visit_;
  size_t seen_ = 0;
};

// Reads the whole file; `bytes` is the size that it must have.
Result<std::string> hash_of_file(const WalkedEntry& entry) {
  TRY(const Fd file, open_listed_beneath(entry.parent, entry.name, O_RDONLY));
  crypto_hash_sha256_state state;
  crypto_hash_sha256_init(&state);
  std::vector<unsigned char> part(kReadPart);
  uint64_t read = 0;
  for (;;) {
    const ssize_t got = ::read(file.get(), part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_path(errno, "read", entry.path);
    if (got == 0) break;
    read += static_cast<uint64_t>(got);
    if (read > entry.bytes) break;
    crypto_hash_sha256_update(&state, part.data(), static_cast<size_t>(got));
  }
  if (read != entry.bytes)
    return fail(Code::unavailable, fmt::format("'{}' changed while it was read", printable(entry.path, 200)));
  std::array<unsigned char, crypto_hash_sha256_BYTES> hash{};
  crypto_hash_sha256_final(&state, hash.data());
  return digits_of(hash);
}

Result<std::string> target_of_link(const WalkedEntry& entry) {
  std::string target(kMaxLayerPathBytes + 1, '\0');
  const ssize_t got = ::readlinkat(entry.parent, entry.name.c_str(), target.data(), target.size());
  if (got < 0) return fail_path(errno, "read the link", entry.path);
  target.resize(static_cast<size_t>(got));
  return target;
}

Result<LayerEntry> entry_of(const WalkedEntry& walked) {
  LayerEntry entry;
  entry.path = walked.path;
  entry.mode = walked.mode & 07777;
  if (S_ISDIR(walked.mode)) {
    entry.kind = EntryKind::folder;
  } else if (S_ISLNK(walked.mode)) {
    entry.kind = EntryKind::link;
    TRY(entry.target, target_of_link(walked));
  } else if (S_ISREG(walked.mode)) {
    entry.bytes = walked.bytes;
  } else {
    return fail(Code::invalid,
                fmt::format("'{}' is refused: it is a device, a socket or a FIFO", printable(walked.path, 200)));
  }
  return entry;
}

}  // namespace

Result<> walk_tree(int tree, const std::function<Result<>(const WalkedEntry& entry)>& visit) {
  return TreeWalk(visit).folder(tree, "", 0);
}

Result<Manifest> scan_tree(int tree) {
  Manifest manifest;
  uint64_t bytes = 0;
  CHECKED(walk_tree(tree, [&](const WalkedEntry& walked) -> Result<> {
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
  CHECKED(walk_tree(tree, [&state](const WalkedEntry& entry) -> Result<> {
    const std::string line = fmt::format("{:o} {} {} {} {} {} {}\n{}\n", entry.mode, entry.owner, entry.bytes,
                                         entry.inode, entry.links, entry.modified_ns, entry.changed_ns, entry.path);
    crypto_hash_sha256_update(&state, reinterpret_cast<const unsigned char*>(line.data()), line.size());
    return {};
  }));
  std::array<unsigned char, crypto_hash_sha256_BYTES> hash{};
  crypto_hash_sha256_final(&state, hash.data());
  return digits_of(hash);
}

}  // namespace layers
