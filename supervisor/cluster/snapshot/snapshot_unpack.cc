#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <set>

#include "supervisor/base/fd.h"
#include "supervisor/base/json/fields.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/log.h"
#include "supervisor/base/path.h"
#include "supervisor/base/tree.h"
#include "supervisor/cluster/snapshot/packed_file.h"
#include "supervisor/cluster/snapshot/snapshot.h"
#include "supervisor/cluster/snapshot/tar_format.h"

namespace cluster {
namespace {

constexpr size_t kMaxLabel = 512 << 10;  // bytes, with a key for each of 1,000 nodes
constexpr size_t kMaxVaultKeys = 1000, kMaxVaultKey = 400;
constexpr size_t kWritten = 256 << 10;
constexpr uint64_t kDiskBlock = 4096;
constexpr mode_t kPermissionBits = 0777;
constexpr std::string_view kBelow = "folder/", kWorkspacePrefix = "workspace/";

tl::unexpected<Error> refuse_entry(const std::string& path, const char* why) {
  return fail(Code::invalid, fmt::format("the snapshot is refused: '{}' {}", printable(path, 200), why));
}

// A byte between two holes takes a block.
uint64_t bytes_on_disk(const TarEntry& entry) {
  if (!entry.is_sparse) return tar_data_bytes(entry);
  uint64_t bytes = 0;
  for (const TarExtent& extent : entry.extents)
    bytes += (extent.offset + extent.size + kDiskBlock - 1) / kDiskBlock * kDiskBlock -
             extent.offset / kDiskBlock * kDiskBlock;
  return bytes;
}

Result<SnapshotLabel> parse_label(const std::string& text) {
  TRY(const Json object, parse_json(text));
  Fields in(object, "label");
  SnapshotLabel label;
  TRY(const int64_t format, in.integer("format", 1, 1000));
  if (format != 1) return fail(Code::invalid, "the snapshot is of a newer version of this program");
  TRY(label.account, in.string("account", 64));
  TRY(label.workspace, in.string("workspace", 64));
  TRY(label.node, in.string("node", 64));
  TRY(const int64_t epoch, in.integer("epoch", 0, int64_t{1} << 53));
  label.epoch = static_cast<uint64_t>(epoch);
  TRY(label.created_ms, in.integer("made_ms", 0, int64_t{1} << 53));
  TRY(label.policy, in.string("policy", 64));
  TRY(label.policy_hash, in.string("policy_hash", 64));
  if (const Json* keys = in.find("vault_keys")) {
    if (!keys->is_object() || keys->size() > kMaxVaultKeys)
      return fail(Code::invalid, "label.vault_keys: no object of at most 1,000 keys");
    for (const auto& [node, key] : keys->items()) {
      if (node.size() > 64 || !key.is_string() || key.get_ref<const std::string&>().size() > kMaxVaultKey)
        return fail(Code::invalid, "label.vault_keys: no key of a node");
      label.vault_keys[node] = key.get<std::string>();
    }
  }
  CHECKED(in.done());
  return label;
}

class Unpacking {
 public:
  Unpacking(int file, int root, const UnpackLimits& limits, const StopRequested& stop)
      : packed_(file),
        reader_([this](char* bytes, size_t count) { return packed_.read(bytes, count); }),
        root_(root),
        limits_(limits),
        stop_(stop) {}

  Result<std::string> read_text(const char* name, size_t max) {
    TRY(const auto entry, reader_.next());
    if (!entry || entry->path != name || entry->type != TarType::file || entry->is_sparse || entry->size > max)
      return fail(Code::invalid, fmt::format("this is no snapshot: it has no {}", name));
    std::string text(static_cast<size_t>(entry->size), '\0');
    size_t done = 0;
    while (done < text.size()) {
      TRY(const size_t got, reader_.read_data(text.data() + done, text.size() - done));
      done += got;
    }
    return text;
  }

  Result<> unpack_all() {
    for (;;) {
      if (stop_()) return fail(Code::unavailable, "the daemon ends");
      TRY(auto entry, reader_.next());
      if (!entry) break;
      CHECKED(add(*std::move(entry)));
    }
    for (auto folder = folders_.rbegin(); folder != folders_.rend(); ++folder) CHECKED(finish_folder(*folder));
    return {};
  }

 private:
  Result<> add(TarEntry entry) {
    const std::string text = entry.path;
    if (!text.starts_with(kBelow)) return refuse_entry(text, "is at no known place");
    entry.path.erase(0, kBelow.size());
    CHECKED(check_path(entry.path, text));
    CHECKED(count(entry, text));
    const size_t slash = entry.path.rfind('/');
    const std::string parent = slash == entry.path.npos ? std::string() : entry.path.substr(0, slash);
    const std::string name = slash == entry.path.npos ? entry.path : entry.path.substr(slash + 1);
    if (!parent_ || parent != parent_path_) {
      TRY(parent_, open_listed_beneath(root_, parent.empty() ? "." : parent, O_PATH | O_DIRECTORY));
      parent_path_ = parent;
    }
    switch (entry.type) {
      case TarType::folder:
        return add_folder(name, std::move(entry));
      case TarType::file:
        return add_file(name, entry, text);
      case TarType::hard_link:
        return add_hard_link(name, entry, text);
      case TarType::link:
        return add_link(name, entry, text);
      case TarType::fifo:
        if (::mkfifoat(parent_.get(), name.c_str(), entry.mode & kPermissionBits) < 0)
          return fail_path(errno, "make", text);
        files_.insert(entry.path);
        return set_times(name, entry);
    }
    return refuse_entry(text, "is of a kind that a snapshot does not have");
  }

  static Result<> check_path(const std::string& path, const std::string& text) {
    if (path.empty() || path.size() > kMaxTarPath || path.find('\0') != path.npos)
      return refuse_entry(text, "is no name");
    for (size_t at = 0; at <= path.size();) {
      const size_t end = std::min(path.find('/', at), path.size());
      const std::string_view part = std::string_view(path).substr(at, end - at);
      if (part.empty() || part == "." || part == ".." || part.size() > kMaxComponentBytes)
        return refuse_entry(text, "has a part that is empty, '.', '..' or too long");
      at = end + 1;
    }
    return {};
  }

  // Before data is written.
  Result<> count(const TarEntry& entry, const std::string& text) {
    const uint64_t bytes = bytes_on_disk(entry);
    name_bytes_ += entry.path.size() + entry.target.size();
    if (name_bytes_ > limits_.name_bytes) return fail(Code::exhausted, "the snapshot has too many and too long names");
    const bool of_workspace = entry.path.starts_with(kWorkspacePrefix);
    bytes_ += bytes, entries_++;
    if (of_workspace) workspace_bytes_ += bytes, workspace_entries_++;
    if (workspace_bytes_ > limits_.workspace_bytes || workspace_entries_ > limits_.workspace_entries)
      return fail(Code::exhausted,
                  fmt::format("the workspace has more than the {} bytes or {} files that its policy allows here",
                              limits_.workspace_bytes, limits_.workspace_entries),
                  "delete files, or raise the quota in the policy of all nodes", "quota");
    if (bytes_ > limits_.bytes || entries_ > limits_.entries)
      return fail(Code::exhausted,
                  fmt::format("the snapshot is larger than this node allows: '{}'", printable(text, 100)));
    return {};
  }

  Result<> add_folder(const std::string& name, TarEntry entry) {
    if (::mkdirat(parent_.get(), name.c_str(), 0700) < 0 && (errno != EEXIST || !is_empty_folder(name)))
      return fail_path(errno, "make", entry.path);
    folders_.push_back(std::move(entry));
    return {};
  }

  bool is_empty_folder(const std::string& name) const {
    struct stat seen {};
    return ::fstatat(parent_.get(), name.c_str(), &seen, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(seen.st_mode) &&
           parent_path_.empty() && created_.insert(name).second;
  }

  Result<> add_file(const std::string& name, const TarEntry& entry, const std::string& text) {
    const Fd file(::openat(parent_.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file) return fail_path(errno, "make", text);
    if (::ftruncate(file.get(), static_cast<off_t>(entry.size)) < 0) return fail_path(errno, "write", text);
    if (entry.is_sparse) {
      for (const TarExtent& extent : entry.extents) CHECKED(write_data(file.get(), extent, text));
    } else {
      CHECKED(write_data(file.get(), {0, entry.size}, text));
    }
    files_.insert(entry.path);
    if (::fchmod(file.get(), entry.mode & kPermissionBits) < 0) return fail_path(errno, "write", text);
    const timespec times[2] = {file_time(entry.mtime_ns), file_time(entry.mtime_ns)};
    if (::futimens(file.get(), times) < 0) return fail_path(errno, "write", text);
    return {};
  }

  Result<> write_data(int file, const TarExtent& extent, const std::string& text) {
    buffer_.resize(kWritten);
    uint64_t done = 0;
    while (done < extent.size) {
      if (stop_()) return fail(Code::unavailable, "the daemon ends");
      const size_t max = static_cast<size_t>(std::min<uint64_t>(extent.size - done, buffer_.size()));
      TRY(const size_t got, reader_.read_data(buffer_.data(), max));
      if (got == 0) return refuse_entry(text, "is cut short");
      size_t written = 0;
      while (written < got) {
        const ssize_t part =
            ::pwrite(file, buffer_.data() + written, got - written, static_cast<off_t>(extent.offset + done + written));
        if (part < 0 && errno == EINTR) continue;
        if (part < 0) return fail_path(errno, "write", text);
        written += static_cast<size_t>(part);
      }
      done += got;
    }
    return {};
  }

  // Only to a file of this snapshot.
  Result<> add_hard_link(const std::string& name, const TarEntry& entry, const std::string& text) {
    if (!entry.target.starts_with(kBelow)) return refuse_entry(text, "is a name of an unknown file");
    const std::string target = entry.target.substr(kBelow.size());
    if (!files_.contains(target)) return refuse_entry(text, "is a name of an unknown file");
    const size_t slash = target.rfind('/');
    TRY(const Fd folder,
        open_listed_beneath(root_, slash == target.npos ? "." : target.substr(0, slash), O_PATH | O_DIRECTORY));
    const std::string of = slash == target.npos ? target : target.substr(slash + 1);
    if (::linkat(folder.get(), of.c_str(), parent_.get(), name.c_str(), 0) < 0) return fail_path(errno, "make", text);
    return {};
  }

  Result<> add_link(const std::string& name, const TarEntry& entry, const std::string& text) {
    if (entry.target.empty() || entry.target.size() > kMaxTarPath || entry.target.find('\0') != std::string::npos)
      return refuse_entry(text, "is a link to no name");
    if (::symlinkat(entry.target.c_str(), parent_.get(), name.c_str()) < 0) return fail_path(errno, "make", text);
    files_.insert(entry.path);
    return set_times(name, entry);
  }

  Result<> set_times(const std::string& name, const TarEntry& entry) {
    const timespec times[2] = {file_time(entry.mtime_ns), file_time(entry.mtime_ns)};
    if (::utimensat(parent_.get(), name.c_str(), times, AT_SYMLINK_NOFOLLOW) < 0)
      return fail_path(errno, "write", entry.path);
    return {};
  }

  // Last, because a folder's time changes with its entries, and its mode may forbid new ones. The daemon must be able
  // to rename the folders at the top.
  Result<> finish_folder(const TarEntry& entry) const {
    TRY(const Fd folder, open_listed_beneath(root_, entry.path, O_RDONLY | O_DIRECTORY));
    const timespec times[2] = {file_time(entry.mtime_ns), file_time(entry.mtime_ns)};
    const mode_t least = entry.path.find('/') == std::string::npos ? 0700 : 0;
    if (::futimens(folder.get(), times) < 0 || ::fchmod(folder.get(), (entry.mode & kPermissionBits) | least) < 0)
      return fail_path(errno, "write", entry.path);
    return {};
  }

  PackedReader packed_;
  TarReader reader_;
  const int root_;
  const UnpackLimits limits_;
  const StopRequested& stop_;
  Fd parent_;  // the folder `parent_path_`
  std::string parent_path_, buffer_;
  std::vector<TarEntry> folders_;
  std::set<std::string> files_;            // that hard links may name
  mutable std::set<std::string> created_;  // folders that existed before
  size_t name_bytes_ = 0;
  uint64_t bytes_ = 0, entries_ = 0, workspace_bytes_ = 0, workspace_entries_ = 0;
};

}  // namespace

Result<SnapshotLabel> read_snapshot_label(int file) {
  const StopRequested never = [] { return false; };
  Unpacking unpacking(file, -1, {}, never);
  TRY(const std::string text, unpacking.read_text("label.json", kMaxLabel));
  return parse_label(text);
}

Result<UnpackedSnapshot> unpack_snapshot(int file, int into, const UnpackLimits& limits, const StopRequested& stop) {
  Unpacking unpacking(file, into, limits, stop);
  TRY(const std::string label, unpacking.read_text("label.json", kMaxLabel));
  UnpackedSnapshot unpacked;
  TRY(unpacked.label, parse_label(label));
  TRY(unpacked.records, unpacking.read_text("records.jsonl", kMaxRecords));
  CHECKED(unpacking.unpack_all());
  return unpacked;
}

}  // namespace cluster
