#include "supervisor/tenants/index/walk.h"

#include <sys/stat.h>

#include <algorithm>

#include "supervisor/base/busy_time.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/tree.h"

namespace tenants {
namespace {

int64_t nanoseconds(const statx_timestamp& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; }

}  // namespace

bool stat_entry(int folder, const char* name, int flags, Entry& entry) {
  struct statx info;
  if (::statx(folder, name, flags | AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME, &info) < 0) return false;
  switch (info.stx_mode & S_IFMT) {
    case S_IFREG:
      entry.kind = FileKind::file;
      break;
    case S_IFDIR:
      entry.kind = FileKind::directory;
      break;
    case S_IFLNK:
      entry.kind = FileKind::link;
      break;
    default:
      entry.kind = FileKind::other;
  }
  entry.mode = info.stx_mode & 07777;
  entry.links = info.stx_nlink;
  entry.inode = info.stx_ino;
  entry.size = info.stx_size;
  entry.allocated = info.stx_blocks * 512;
  entry.mtime_ns = nanoseconds(info.stx_mtime);
  entry.ctime_ns = nanoseconds(info.stx_ctime);
  entry.btime_ns = info.stx_mask & STATX_BTIME ? nanoseconds(info.stx_btime) : 0;
  return true;
}

std::string_view kind_name(FileKind kind) {
  switch (kind) {
    case FileKind::file:
      return "file";
    case FileKind::directory:
      return "directory";
    case FileKind::link:
      return "link";
    case FileKind::other:
      return "other";
  }
  return "other";
}

Result<Entry> describe(int root, const RelativePath& path) {
  TRY(Fd entry_fd, open_beneath(root, path, O_PATH));
  Entry entry;
  entry.path = path.text();
  if (!stat_entry(entry_fd.get(), "", AT_EMPTY_PATH, entry)) return fail_path(errno, "look at", path.text());
  return entry;
}

Result<Walk> Walk::begin(int root, const RelativePath& start, WalkBounds bounds, WalkOrder order) {
  Walk walk(root, bounds, order);
  CHECKED(walk.enter(start.text(), 1));
  return walk;
}

// Starts reading a folder; `depth` is the depth of its entries.
Result<> Walk::enter(const std::string& path, unsigned depth) {
  TRY(Fd fd, open_listed_beneath(root_, path, O_RDONLY | O_DIRECTORY));
  TRY(reading_, FolderReader::of(std::move(fd), path));
  reading_path_ = path == "." ? "" : path + "/";
  filling_ = Frame{{}, 0, depth};
  return {};
}

// The mode is changed through a descriptor, so that the folder is in this tree even if its name was replaced meanwhile.
void restore_owner_rights(int root, const std::string& path) {
  auto listed_beneath = open_listed_beneath(root, path, O_PATH | O_DIRECTORY);
  if (listed_beneath) allow_owner(listed_beneath->get());
}

Result<> Walk::read_entry(std::vector<Entry>& out) {
  TRY(const dirent* listed, reading_.next());
  if (listed != nullptr && seen_ == bounds_.entries) {
    missed_ = "it contains more than " + std::to_string(bounds_.entries) + " files";
    listed = nullptr;
  }
  if (listed == nullptr) {
    reading_ = {};
    if (order_ == WalkOrder::sorted) {
      std::sort(filling_.entries.begin(), filling_.entries.end(),
                [](const Entry& a, const Entry& b) { return a.path < b.path; });
    }
    stack_.push_back(std::move(filling_));
    return {};
  }
  Entry entry;
  bool is_there = stat_entry(reading_.fd(), listed->d_name, 0, entry);
  if (!is_there && errno == EACCES) {  // a program has taken the owner's right to the folder away
    restore_owner_rights(root_, reading_path_.empty() ? "." : reading_path_);
    is_there = stat_entry(reading_.fd(), listed->d_name, 0, entry);
  }
  if (!is_there) {
    if (errno != ENOENT && missed_.empty())
      missed_ = "'" + valid_utf8(reading_path_ + listed->d_name) +
                "' cannot be looked at: " + std::generic_category().message(errno);
    return {};
  }
  seen_++;
  entry.path = reading_path_ + listed->d_name;
  if (order_ == WalkOrder::any) {
    out.push_back(entry);
    if (entry.kind != FileKind::directory) return {};
  }
  filling_.entries.push_back(std::move(entry));
  return {};
}

Result<bool> Walk::step(unsigned slice, std::vector<Entry>& out) {
  const NamedWork named_work(LoopWork::workspace);
  for (; slice > 0; slice--) {
    if (reading_) {
      CHECKED(read_entry(out));
      continue;
    }
    while (!stack_.empty() && stack_.back().next == stack_.back().entries.size()) stack_.pop_back();
    if (stack_.empty()) return true;
    Frame& top = stack_.back();
    const Entry entry = std::move(top.entries[top.next++]);
    if (order_ == WalkOrder::sorted) out.push_back(entry);
    if (entry.kind != FileKind::directory) continue;
    if (top.depth >= bounds_.depth) {
      if (bounds_.depth >= kMaxPathComponents && missed_.empty())
        missed_ = "its folders are nested deeper than " + std::to_string(kMaxPathComponents);
      continue;
    }
    const unsigned depth = top.depth + 1;
    auto entered = enter(entry.path, depth);
    if (!entered && entered.error().err == EACCES) {
      restore_owner_rights(root_, entry.path);
      entered = enter(entry.path, depth);
    }
    if (!entered) {
      int err = entered.error().err;
      bool vanished = err == ENOENT || err == ENOTDIR || err == ELOOP;
      if (!vanished && missed_.empty())
        missed_ = "folder '" + valid_utf8(entry.path) + "' cannot be read: " + entered.error().what;
    }
  }
  return false;
}

}  // namespace tenants
