// ChangeLog: the files of a workspace that changed since a moment, each with its state then. FileTable writes it.
// Bounded: beyond kMaxLogged files it only says that it is not complete. No errors.
#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>

#include "supervisor/tenants/index/changes.h"

namespace tenants {

// What shows that a file is another one, or was written. Times are in nanoseconds since 1970.
struct FileStamp {
  uint64_t inode = 0;
  uint64_t size = 0;       // bytes
  uint64_t allocated = 0;  // bytes on disk
  int64_t mtime_ns = 0;
  int64_t ctime_ns = 0;  // cannot be set back by the jail
  uint32_t links = 0;    // names of this file
  FileKind kind = FileKind::other;

  static FileStamp of(const Entry& entry) {
    return {entry.inode, entry.size, entry.allocated, entry.mtime_ns, entry.ctime_ns, entry.links, entry.kind};
  }
  // Whether no program has written the file, changed its mode or given it another name. `allocated` may change later:
  // file systems allocate late, and give back what they allocated too much.
  bool is_unchanged(const FileStamp& other) const {
    return inode == other.inode && size == other.size && mtime_ns == other.mtime_ns && ctime_ns == other.ctime_ns &&
           kind == other.kind;
  }
};

class ChangeLog {
 public:
  static constexpr size_t kMaxLogged = 200'000;  // files; about 150 bytes each

  struct Old {
    bool existed = false;
    FileStamp stamp;
    bool contended = false;  // a second writer was there at one of its changes
  };

  // `old`: what the file was before this change; nullptr: it was not there.
  void note(std::string path, const FileStamp* old, bool contended) {
    if (files_.size() >= kMaxLogged && !files_.contains(path)) {
      complete_ = false;
      return;
    }
    const auto [at, is_new] = files_.try_emplace(std::move(path));
    if (is_new && old != nullptr) at->second = {true, *old, false};
    at->second.contended |= contended;
  }
  const std::unordered_map<std::string, Old>& files() const { return files_; }
  bool is_complete() const { return complete_; }
  uint64_t size_at_begin = 0;  // sum of all files' sizes then, in bytes

 private:
  std::unordered_map<std::string, Old> files_;  // by path
  bool complete_ = true;
};

// Changes of the time in which one writer was alone, and changes of the time in which it was not: those may be another
// writer's.
struct LoggedChanges {
  Changes own, meanwhile;
};

}  // namespace tenants
