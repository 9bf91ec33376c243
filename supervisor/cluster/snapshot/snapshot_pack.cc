#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include "supervisor/base/fd.h"
#include "supervisor/base/folder.h"
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

constexpr size_t kCopied = 256 << 10;  // bytes of a file in one read
constexpr mode_t kPermissions = 0777;

tl::unexpected<Error> stopped() { return fail(Code::unavailable, "the daemon ends"); }

// Gives the owner rights to an entry that its mode does not give, until the end of the scope.
// The entry is opened without following links, and its mode is set through the descriptor: fchmodat(2) would follow a
// link that a program put there.
class OwnerRights {
 public:
  OwnerRights(int folder, const std::string& name, mode_t mode, mode_t needed) : mode_(mode & 07777) {
    if ((mode & needed) == needed) return;
    auto opened = open_listed_beneath(folder, name, O_PATH);
    struct stat now {};
    if (!opened || ::fstat(opened->get(), &now) < 0 || S_ISLNK(now.st_mode)) return;
    if (set_mode(opened->get(), mode_ | needed)) entry_ = *std::move(opened);
  }
  ~OwnerRights() {
    if (entry_) set_mode(entry_.get(), mode_);
  }
  OwnerRights(const OwnerRights&) = delete;

 private:
  // chmod(2) follows the link in proc(5) to the very file of the descriptor.
  static bool set_mode(int entry, mode_t mode) { return ::chmod(descriptor_path(entry).c_str(), mode) == 0; }
  const mode_t mode_;
  Fd entry_;  // empty: the mode is as it was
};

class Packing {
 public:
  Packing(int file, int root, const StopRequested& stop) : writer_(file), root_(root), stop_(stop) {}

  Result<> add_text(const std::string& path, const std::string& text) {
    TarEntry entry;
    entry.path = path;
    entry.mode = 0600;
    entry.size = text.size();
    CHECKED(writer_.add(tar_headers(entry)));
    CHECKED(writer_.add(text));
    return writer_.add(std::string(tar_padding(text.size()), '\0'));
  }

  // All below the root. `left_out`: entries of the root.
  Result<> add_tree(const std::vector<std::string>& left_out) {
    waiting_.push_back({});
    while (!waiting_.empty()) {
      const Folder folder = std::move(waiting_.back());
      waiting_.pop_back();
      CHECKED(add_contents(folder, folder.path.empty() ? left_out : std::vector<std::string>()));
    }
    return {};
  }

  Result<PackedSnapshot> finish() {
    CHECKED(writer_.add(tar_end()));
    TRY(packed_.sha256, writer_.finish());
    packed_.bytes = writer_.written();
    return std::move(packed_);
  }

 private:
  struct Folder {
    std::string path;  // empty: the root
    mode_t mode = 0700;
  };

  Result<> add_contents(const Folder& folder, const std::vector<std::string>& left_out) {
    const std::string path = folder.path.empty() ? "." : folder.path;
    const OwnerRights rights(root_, path, folder.mode, S_IRUSR | S_IXUSR);
    TRY(Fd opened, open_listed_beneath(root_, path, O_RDONLY | O_DIRECTORY));
    TRY(FolderReader entries, FolderReader::of(std::move(opened), path));
    for (;;) {
      TRY(const dirent* entry, entries.next());
      if (entry == nullptr) return {};
      const std::string name = entry->d_name;
      if (std::find(left_out.begin(), left_out.end(), name) != left_out.end()) continue;
      if (stop_()) return stopped();
      CHECKED(add_entry(entries.fd(), name, folder.path.empty() ? name : folder.path + "/" + name));
    }
  }

  Result<> add_entry(int folder, const std::string& name, const std::string& path) {
    struct stat seen {};
    if (::fstatat(folder, name.c_str(), &seen, AT_SYMLINK_NOFOLLOW) < 0) return fail_path(errno, "look at", path);
    TarEntry entry;
    entry.path = "folder/" + path;
    if (entry.path.size() > kMaxTarPath)
      return fail(Code::exhausted, "the path of '" + printable(path, 100) + "' is too long for a snapshot",
                  "shorten it");
    entry.mode = seen.st_mode & kPermissions;
    entry.mtime_ns = nanoseconds_of(seen.st_mtim);
    if (S_ISSOCK(seen.st_mode)) return {};
    packed_.entries++;
    if (S_ISDIR(seen.st_mode)) {
      entry.type = TarType::folder;
      waiting_.push_back({path, seen.st_mode});
      return writer_.add(tar_headers(entry));
    }
    if (seen.st_nlink > 1) {
      const auto [first, is_new] = names_.try_emplace({seen.st_dev, seen.st_ino}, entry.path);
      if (!is_new) {
        entry.type = TarType::hard_link;
        entry.target = first->second;
        return writer_.add(tar_headers(entry));
      }
    }
    if (S_ISLNK(seen.st_mode)) return add_link(folder, name, std::move(entry));
    if (S_ISFIFO(seen.st_mode)) {
      entry.type = TarType::fifo;
      return writer_.add(tar_headers(entry));
    }
    if (!S_ISREG(seen.st_mode))
      return fail(Code::invalid, "'" + printable(path, 200) + "' is of a kind that a snapshot does not have");
    const OwnerRights rights(folder, name, seen.st_mode, S_IRUSR);
    return add_file(folder, name, std::move(entry), seen);
  }

  Result<> add_link(int folder, const std::string& name, TarEntry entry) {
    entry.type = TarType::link;
    entry.target.resize(kMaxTarPath + 1);
    const ssize_t length = ::readlinkat(folder, name.c_str(), entry.target.data(), entry.target.size());
    if (length < 0) return fail_path(errno, "read", entry.path);
    entry.target.resize(static_cast<size_t>(length));
    return writer_.add(tar_headers(entry));
  }

  Result<> add_file(int folder, const std::string& name, TarEntry entry, const struct stat& seen) {
    TRY(const Fd file, open_listed_beneath(folder, name, O_RDONLY));
    entry.size = static_cast<uint64_t>(seen.st_size);
    if (seen.st_blocks * 512 < seen.st_size) CHECKED(find_data(file.get(), entry));
    CHECKED(writer_.add(tar_headers(entry)));
    if (!entry.is_sparse) entry.extents = {{0, entry.size}};
    uint64_t data = 0;
    for (const TarExtent& extent : entry.extents) {
      CHECKED(copy(file.get(), extent, entry.path));
      data += extent.size;
    }
    packed_.content += data;
    return writer_.add(std::string(tar_padding(data), '\0'));
  }

  // A file with more parts than the form allows is stored as one without holes.
  static Result<> find_data(int file, TarEntry& entry) {
    const auto size = static_cast<off_t>(entry.size);
    off_t at = 0;
    while (at < size && entry.extents.size() < kMaxTarExtents) {
      const off_t data = ::lseek(file, at, SEEK_DATA);
      if (data < 0 && errno == ENXIO) break;  // only holes behind
      if (data < 0) return fail_path(errno, "read", entry.path);
      const off_t hole = ::lseek(file, data, SEEK_HOLE);
      const off_t end = hole < 0 ? size : std::min(hole, size);
      if (end <= data) break;
      entry.extents.push_back({static_cast<uint64_t>(data), static_cast<uint64_t>(end - data)});
      at = end;
    }
    entry.is_sparse = entry.extents.size() < kMaxTarExtents;
    if (!entry.is_sparse) entry.extents.clear();
    return {};
  }

  Result<> copy(int file, const TarExtent& extent, const std::string& path) {
    buffer_.resize(kCopied);
    uint64_t done = 0;
    while (done < extent.size) {
      if (stop_()) return stopped();
      const size_t count = static_cast<size_t>(std::min<uint64_t>(extent.size - done, buffer_.size()));
      const ssize_t got = ::pread(file, buffer_.data(), count, static_cast<off_t>(extent.offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return fail_path(errno, "read", path);
      if (got == 0) return fail(Code::unavailable, "'" + printable(path, 200) + "' changed while it was read");
      CHECKED(writer_.add({buffer_.data(), static_cast<size_t>(got)}));
      done += static_cast<uint64_t>(got);
    }
    return {};
  }

  PackedWriter writer_;
  const int root_;
  const StopRequested& stop_;
  std::vector<Folder> waiting_;
  std::map<std::pair<dev_t, ino_t>, std::string> names_;  // of files with several names: the first one
  std::string buffer_;
  PackedSnapshot packed_;
};

std::string write_label(const SnapshotLabel& label) {
  Json object = {{"format", 1},
                 {"account", label.account},
                 {"workspace", label.workspace},
                 {"node", label.node},
                 {"epoch", label.epoch},
                 {"made_ms", label.created_ms},
                 {"policy", label.policy},
                 {"policy_hash", label.policy_hash}};
  if (!label.vault_keys.empty()) object["vault_keys"] = label.vault_keys;
  return dump_json(object) + "\n";
}

}  // namespace

Result<PackedSnapshot> pack_snapshot(int file, const SnapshotSource& source, const StopRequested& stop) {
  if (source.records.size() > kMaxRecords)
    return fail(Code::exhausted, "the records of the workspace are larger than a snapshot may have");
  Packing packing(file, source.folder, stop);
  CHECKED(packing.add_text("label.json", write_label(source.label)));
  CHECKED(packing.add_text("records.jsonl", source.records));
  CHECKED(packing.add_tree(source.left_out));
  return packing.finish();
}

}  // namespace cluster
