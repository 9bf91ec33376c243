#include "supervisor/records/journal/own_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <optional>
#include <string_view>

#include "supervisor/base/path.h"
#include "supervisor/base/text_lines.h"

namespace journal {
namespace {

constexpr char kList[] = "/in-use";
constexpr size_t kMaxList = 4096;  // bytes

std::string what_happened(bool there, const std::string& path) {
  return there ? path + " was replaced while the daemon runs: the daemon writes to the old file"
               : path + " was removed while the daemon runs";
}

// A query with F_OFD_GETLK takes no lock, so it never disturbs a daemon that starts.
bool is_locked(int list) {
  struct flock lock {};
  lock.l_type = F_RDLCK;
  lock.l_whence = SEEK_SET;
  return ::fcntl(list, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

std::optional<uint64_t> take_number(std::string_view& text) {
  uint64_t number = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (wrong != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  if (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  return number;
}

}  // namespace

Result<OwnFiles> OwnFiles::note(const std::string& folder, const std::vector<std::string>& names) {
  OwnFiles own;
  own.folder_ = folder;
  const std::string path = folder + kList;
  own.list_ = Fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!own.list_) return fail_path(errno, "open", path);
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  if (::fcntl(own.list_.get(), F_OFD_SETLK, &lock) < 0)
    return fail(Code::unavailable, folder + " is in use by another daemon",
                "stop that daemon, or give another folder: --state DIR");
  std::string text;
  struct stat status {};
  for (const std::string& name : names) {
    if (::stat((folder + "/" + name).c_str(), &status) < 0) continue;
    own.files_.push_back({name, status.st_dev, status.st_ino});
    text += fmt::format("{} {} {}\n", status.st_dev, status.st_ino, name);
  }
  if (::ftruncate(own.list_.get(), 0) < 0 ||
      ::pwrite(own.list_.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
    return fail_path(errno, "write", path);
  if (::fstat(own.list_.get(), &status) < 0) return fail_path(errno, "look at", path);
  own.files_.push_back({kList + 1, status.st_dev, status.st_ino});
  return own;
}

std::string OwnFiles::trouble() const {
  for (const OwnFile& file : files_) {
    const std::string path = folder_ + "/" + file.name;
    struct stat status {};
    const bool there = ::stat(path.c_str(), &status) == 0;
    if (!there && errno != ENOENT && errno != ENOTDIR) continue;  // the file may still be in place
    if (!there || status.st_dev != file.device || status.st_ino != file.inode) return what_happened(there, path);
  }
  return {};
}

std::string trouble_of_daemon(const std::string& file) {
  const size_t slash = file.rfind('/');
  const std::string folder = slash == file.npos ? "." : file.substr(0, slash);
  const std::string_view name = std::string_view(file).substr(slash == file.npos ? 0 : slash + 1);
  const Fd list(::open((folder + kList).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!list || !is_locked(list.get())) return {};
  std::string text(kMaxList, '\0');
  const ssize_t got = ::pread(list.get(), text.data(), text.size(), 0);
  if (got < 0) return fmt::format("{}{} cannot be read: {}", folder, kList, std::generic_category().message(errno));
  text.resize(static_cast<size_t>(got));
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view line = *take_line(rest);
    const auto device = take_number(line), inode = take_number(line);
    if (!device || !inode || !line.starts_with(name)) continue;  // the database and its -wal and -shm files
    const std::string path = folder + "/" + std::string(line);
    struct stat status {};
    const bool there = ::stat(path.c_str(), &status) == 0;
    if (!there || status.st_dev != *device || status.st_ino != *inode) return what_happened(there, path);
  }
  return {};
}

}  // namespace journal
