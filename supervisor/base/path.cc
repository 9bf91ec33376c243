#include "supervisor/base/path.h"

#include <linux/openat2.h>
#include <sys/syscall.h>

#include <algorithm>
#include <filesystem>

#include "supervisor/base/disk_faults.h"
#include "supervisor/base/folder.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/tree.h"

namespace {

constexpr uint64_t kResolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV;
constexpr int kAttempts = 16;  // openat2(2): EAGAIN when a rename or mount raced with the walk

// Returns a descriptor, or -1 and errno, like open(2).
int openat2_beneath(int dirfd, const char* path, int flags, mode_t mode) {
  struct open_how how = {};
  how.flags = static_cast<uint64_t>(flags) | O_CLOEXEC | O_NOFOLLOW;
  if ((flags & O_PATH) == 0) how.flags |= O_NONBLOCK | O_NOCTTY;  // O_PATH refuses both with EINVAL
  if (flags & (O_CREAT | __O_TMPFILE)) how.mode = mode;
  how.resolve = kResolve;
  for (int attempt = 0;; attempt++) {
    long fd = ::syscall(SYS_openat2, dirfd, path, &how, sizeof how);
    if (fd >= 0) return static_cast<int>(fd);
    if (errno == EINTR || (errno == EAGAIN && attempt < kAttempts)) continue;
    if (how.flags & O_CREAT) disk_faults::note(errno);
    return -1;
  }
}

std::string in_quotes(std::string_view path) { return "'" + std::string(path) + "'"; }

}  // namespace

tl::unexpected<Error> fail_path(int err, std::string_view verb, std::string_view path) {
  struct Row {
    int err;
    Code code;
    const char* reason;
    const char* hint;
  };
  static constexpr Row kRows[] = {
      {ENOENT, Code::not_found, "it does not exist", "check the name; list the files of the folder"},
      {ELOOP, Code::denied, "the path is, or contains, a symbolic link",
       "links are not followed: name the file itself"},
      {EXDEV, Code::denied, "the path leads to another file system", "name a file that is stored in this folder"},
      {ENOTDIR, Code::invalid, "a part of the path is a file, not a folder", "check the names of the folders"},
      {EISDIR, Code::invalid, "it is a folder", "name a file in it"},
      {EEXIST, Code::invalid, "it exists already", "choose another name, or allow the file to be replaced"},
      {ENOTEMPTY, Code::invalid, "the folder is not empty", "remove its files first, or request recursive removal"},
      {EINVAL, Code::invalid, "the operation is not possible for this file",
       "check the names; a folder cannot move into itself"},
      {ENAMETOOLONG, Code::invalid, "the name is too long", "a name has at most 255 bytes, a path 4096"},
      {ENXIO, Code::denied, "it is a FIFO, a socket or a device", "only regular files can be read and written"},
      {ENODEV, Code::denied, "it is a device", "only regular files can be read and written"},
      {EACCES, Code::denied, "its permissions forbid it", "change the mode of the file or of its folder (chmod u+rwx)"},
      {EPERM, Code::denied, "the kernel forbids it", "the file may be immutable or belong to another user"},
      {EROFS, Code::denied, "the file system is read-only", "write to another folder"},
      {ENOSPC, Code::exhausted, "the disk is full", "delete files that are no longer needed"},
      {EDQUOT, Code::exhausted, "the quota is used up", "delete files that are no longer needed"},
      {EFBIG, Code::exhausted, "the file would be too large", "write less data, or write several files"},
      {EMFILE, Code::exhausted, "too many files are open", "try again later"},
      {ENFILE, Code::exhausted, "too many files are open on this machine", "try again later"},
      {EMLINK, Code::exhausted, "the folder contains too many folders", "use another folder"},
      {EAGAIN, Code::unavailable, "its folders changed again and again",
       "try again when no program renames the folders"},
      {ETXTBSY, Code::unavailable, "it is a running program", "wait until the program ends"},
      {EBUSY, Code::unavailable, "it is in use", "try again later"},
      {ENOSYS, Code::unavailable, "the kernel does not support openat2", "use Linux 5.6 or later"},
  };
  for (const Row& row : kRows) {
    if (row.err != err) continue;
    std::string message = "cannot " + std::string(verb) + " " + in_quotes(path) + ": " + row.reason;
    return tl::unexpected<Error>(Error{row.code, err, std::move(message), row.hint, {}});
  }
  return fail_errno(err, "cannot " + std::string(verb) + " " + in_quotes(path));
}

Result<RelativePath> RelativePath::parse(std::string_view text) {
  auto wrong = [](std::string message, std::string hint) {
    return fail(Code::invalid, std::move(message), std::move(hint));
  };
  if (text.empty()) return wrong("the path is empty", "name a file, or '.' for the folder itself");
  if (text.size() > kMaxPathBytes)
    return wrong("the path has " + std::to_string(text.size()) + " bytes", "at most 4096 are allowed");
  for (size_t i = 0; i < text.size(); i++) {
    auto byte = static_cast<unsigned char>(text[i]);
    // U+0080..U+009F (C2 80..C2 9F) are control characters too.
    bool c1 = byte == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0;
    if (byte < 0x20 || byte == 0x7F || c1)
      return wrong("the path has a control character at byte " + std::to_string(i), "use printable characters only");
  }
  if (valid_utf8(text) != text) return wrong("the path is not valid UTF-8", "send the name as UTF-8 text");
  if (text.front() == '/')
    return wrong("the path " + in_quotes(text) + " is absolute",
                 "paths are relative to the folder: leave out the leading '/'");

  std::string normal;
  normal.reserve(text.size());
  size_t count = 0;
  for (size_t at = 0; at <= text.size();) {
    size_t end = std::min(text.find('/', at), text.size());
    std::string_view part = text.substr(at, end - at);
    at = end + 1;
    if (part.empty() || part == ".") continue;
    if (part == "..")
      return wrong("the path " + in_quotes(text) + " has a '..' component",
                   "name the file from the folder's top, without '..'");
    if (part.size() > kMaxComponentBytes)
      return wrong("a name in the path has " + std::to_string(part.size()) + " bytes", "at most 255 are allowed");
    if (++count > kMaxPathComponents)
      return wrong("the path has more than " + std::to_string(kMaxPathComponents) + " components",
                   "use fewer nested folders");
    if (!normal.empty()) normal += '/';
    normal += part;
  }
  if (normal.empty()) normal = ".";
  return RelativePath(std::move(normal));
}

std::string_view RelativePath::name() const {
  std::string_view text = text_;
  size_t slash = text.rfind('/');
  return slash == text.npos ? text : text.substr(slash + 1);
}

RelativePath RelativePath::parent() const {
  size_t slash = text_.rfind('/');
  return slash == text_.npos ? RelativePath() : RelativePath(text_.substr(0, slash));
}

std::vector<std::string> RelativePath::components() const {
  std::vector<std::string> parts;
  if (is_root()) return parts;
  for (size_t at = 0; at <= text_.size();) {
    size_t end = std::min(text_.find('/', at), text_.size());
    parts.push_back(text_.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

Result<Fd> open_beneath(int dirfd, const RelativePath& path, int flags, mode_t mode) {
  Fd fd(openat2_beneath(dirfd, path.c_str(), flags, mode));
  if (!fd) return fail_path(errno, "open", path.text());
  return fd;
}

Result<Fd> open_listed_beneath(int dirfd, const std::string& listed, int flags) {
  Fd fd(openat2_beneath(dirfd, listed.c_str(), flags, 0));
  if (!fd) return fail_path(errno, "open", valid_utf8(listed));
  return fd;
}

Result<Fd> open_directory_beneath(int dirfd, const RelativePath& path) {
  return open_beneath(dirfd, path, O_PATH | O_DIRECTORY);
}

Result<struct stat> stat_beneath(int dirfd, const RelativePath& path) {
  TRY(Fd pinned, open_beneath(dirfd, path, O_PATH));
  struct stat info;
  if (::fstat(pinned.get(), &info) < 0) return fail_path(errno, "look at", path.text());
  return info;
}

Result<Fd> open_regular_beneath(int dirfd, const RelativePath& path, int flags) {
  TRY(Fd pinned, open_beneath(dirfd, path, O_PATH));
  struct stat info;
  if (::fstat(pinned.get(), &info) < 0) return fail_path(errno, "open", path.text());
  if (S_ISLNK(info.st_mode)) return fail_path(ELOOP, "open", path.text());
  if (S_ISDIR(info.st_mode)) return fail_path(EISDIR, "open", path.text());
  if (!S_ISREG(info.st_mode)) return fail_path(ENXIO, "open", path.text());
  if (info.st_nlink > 1)
    return fail(
        Code::denied,
        "cannot open " + in_quotes(path.text()) + ": it has " + std::to_string(info.st_nlink) + " names (hard links)",
        "copy the file: only files with one name can be used");
  Fd fd(::open(descriptor_path(pinned.get()).c_str(), flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));  // the checked inode
  if (!fd) return fail_path(errno, "open", path.text());
  return fd;
}

Result<Fd> make_directories_beneath(int dirfd, const RelativePath& path, mode_t mode) {
  TRY(Fd at, open_directory_beneath(dirfd, RelativePath()));
  for (const std::string& part : path.components()) {
    if (::mkdirat(at.get(), part.c_str(), mode) < 0 && errno != EEXIST)
      return fail_path(errno, "create folder", path.text());
    Fd next(openat2_beneath(at.get(), part.c_str(), O_PATH | O_DIRECTORY, 0));
    if (!next) return fail_path(errno, "create folder", path.text());
    at = std::move(next);
  }
  return at;
}

Result<> rename_beneath(int dirfd, const RelativePath& from, const RelativePath& to, Existing existing) {
  if (from.is_root() || to.is_root()) return fail_path(EBUSY, "rename", ".");
  TRY(Fd source, open_directory_beneath(dirfd, from.parent()));
  TRY(Fd target, open_directory_beneath(dirfd, to.parent()));
  unsigned flags = existing == Existing::refuse ? 1u : 0u;  // RENAME_NOREPLACE
  std::string old_name(from.name()), new_name(to.name());
  if (::syscall(SYS_renameat2, source.get(), old_name.c_str(), target.get(), new_name.c_str(), flags) < 0) {
    int err = errno;
    return fail_path(err, "rename", err == EEXIST ? to.text() : from.text());
  }
  return {};
}

Result<> unlink_beneath(int dirfd, const RelativePath& path, Removing kind) {
  if (path.is_root()) return fail_path(EBUSY, "delete", ".");
  TRY(Fd parent, open_directory_beneath(dirfd, path.parent()));
  std::string name(path.name());
  if (::unlinkat(parent.get(), name.c_str(), kind == Removing::empty_directory ? AT_REMOVEDIR : 0) < 0)
    return fail_path(errno, "delete", path.text());
  return {};
}

Result<TreeRemoval> TreeRemoval::begin(int dirfd, const RelativePath& path, uint64_t max_operations) {
  if (path.is_root()) return fail_path(EBUSY, "delete", ".");
  TRY(Fd parent, open_directory_beneath(dirfd, path.parent()));
  TRY(Fd top, open_directory_beneath(dirfd, path));
  (void)::chmod(descriptor_path(top.get()).c_str(), 0700);
  return TreeRemoval(std::move(parent), std::string(path.name()), std::move(top), max_operations);
}

// True when `directory` is empty now, false when the slice's operations ran out.
Result<bool> TreeRemoval::empty_directory(int directory, unsigned& operations) {
  for (;;) {
    Fd fd(openat2_beneath(directory, ".", O_RDONLY | O_DIRECTORY, 0));
    if (!fd) return fail_path(errno, "delete", name_);
    TRY(FolderReader entries, FolderReader::of(std::move(fd), name_));
    bool removed = false;
    for (;;) {
      TRY(const dirent* entry, entries.next());
      if (entry == nullptr) break;
      const char* name = entry->d_name;
      bool is_directory = entry->d_type == DT_DIR;
      if (entry->d_type == DT_UNKNOWN) {
        struct stat info;
        is_directory = ::fstatat(directory, name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(info.st_mode);
      }
      TRY(bool is_removed, remove_entry(directory, name, is_directory, operations));
      if (!is_removed) return false;
      removed = true;
    }
    if (!removed) return true;  // one whole pass found no entry
  }
}

Result<bool> TreeRemoval::remove_entry(int directory, const char* name, bool is_directory, unsigned& operations) {
  if (operations == 0) return false;
  if (remaining_ == 0)
    return fail(Code::exhausted, "cannot delete " + in_quotes(name_) + ": it has too many files",
                "delete it again to continue, or delete its folders one by one");
  operations--;
  remaining_--;
  if (::unlinkat(directory, name, is_directory ? AT_REMOVEDIR : 0) == 0 || errno == ENOENT) return true;
  if (!is_directory || errno != ENOTEMPTY) return fail_path(errno, "delete", name_);

  Fd child(openat2_beneath(directory, name, O_PATH | O_DIRECTORY, 0));
  if (!child) return fail_path(errno, "delete", name_);
  (void)::chmod(descriptor_path(child.get()).c_str(), 0700);  // the owner may have taken its own permissions away
  struct stat here, top;
  if (::fstat(directory, &here) < 0 || ::fstat(top_.get(), &top) < 0) return fail_path(errno, "delete", name_);
  if (here.st_ino != top.st_ino) {  // below the top: move it up, empty it there later
    std::string up;
    do {
      up = ".removing-" + std::to_string(moved_++);
    } while (::faccessat(top_.get(), up.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0);
    if (::syscall(SYS_renameat2, directory, name, top_.get(), up.c_str(), 1u) < 0)
      return fail_path(errno, "delete", name_);
    return true;
  }
  TRY(bool emptied, empty_directory(child.get(), operations));
  if (!emptied) return false;
  if (::unlinkat(directory, name, AT_REMOVEDIR) < 0 && errno != ENOENT && errno != ENOTEMPTY)
    return fail_path(errno, "delete", name_);
  return true;
}

Result<bool> TreeRemoval::step(unsigned operations) {
  TRY(bool emptied, empty_directory(top_.get(), operations));
  if (!emptied) return false;
  if (::unlinkat(parent_.get(), name_.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return true;
  if (errno != ENOTEMPTY) return fail_path(errno, "delete", name_);
  struct stat top, named;  // another process added a file meanwhile, or put another folder there
  if (::fstat(top_.get(), &top) < 0 || ::fstatat(parent_.get(), name_.c_str(), &named, AT_SYMLINK_NOFOLLOW) < 0 ||
      top.st_ino != named.st_ino)
    return fail_path(EAGAIN, "delete", name_);
  return false;
}

Result<> remove_tree_beneath(int dirfd, const RelativePath& path, uint64_t max_operations) {
  TRY(TreeRemoval removal, TreeRemoval::begin(dirfd, path, max_operations));
  for (;;) {
    TRY(bool done, removal.step(1000));
    if (done) return {};
  }
}

Result<std::string> read_complete(int fd, size_t max_bytes) {
  struct stat info;
  std::string bytes;
  if (::fstat(fd, &info) == 0 && S_ISREG(info.st_mode))
    bytes.reserve(std::min(max_bytes, static_cast<size_t>(std::max<off_t>(info.st_size, 0))) + 1);
  char buffer[64 * 1024];
  for (;;) {
    ssize_t n = ::read(fd, buffer, std::min(sizeof buffer - 1, max_bytes - bytes.size()) + 1);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(errno, "read");
    if (n == 0) return bytes;
    bytes.append(buffer, static_cast<size_t>(n));
    if (bytes.size() > max_bytes)
      return fail(Code::exhausted, "the file has more than " + std::to_string(max_bytes) + " bytes",
                  "read the file in parts");
  }
}

Result<> write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const int error = errno;
      disk_faults::note(error);
      const bool is_full = error == ENOSPC || error == EDQUOT || error == EFBIG;
      return fail_errno(error, "write", is_full ? Code::exhausted : Code::internal);
    }
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return {};
}

Result<Fd> open_directory(const std::string& absolute) {
  if (absolute.empty() || absolute.front() != '/')
    return fail(Code::invalid, "the path " + in_quotes(absolute) + " is not absolute", "begin it with '/'");
  Fd fd(::open(absolute.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return fail_path(errno, "open folder", absolute);
  return fd;
}

Result<Fd> open_without_links(const std::string& absolute, int flags) {
  open_how how{};
  how.flags = static_cast<uint64_t>(flags | O_CLOEXEC);
  how.resolve = RESOLVE_NO_SYMLINKS;
  Fd fd(static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, absolute.c_str(), &how, sizeof how)));
  if (fd) return fd;
  if (errno != ELOOP) return fail_errno(errno, "open " + absolute, errno == ENOENT ? Code::not_found : Code::denied);
  std::error_code unknown;
  const auto real = std::filesystem::canonical(absolute, unknown);
  return fail(Code::denied, absolute + " leads through a symbolic link",
              "name the real path, if it is the right one: " + real.string());
}
