#include "supervisor/records/journal/spool.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "supervisor/base/disk_faults.h"
#include "supervisor/base/path.h"
#include "supervisor/base/tree.h"

namespace journal {

Result<Spool> Spool::open(const std::string& path) {
  Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return fail_path(errno, "open", path);
  struct stat status {};
  if (::fstat(file.get(), &status) < 0) return fail_path(errno, "look at", path);
  return Spool(std::move(file), static_cast<size_t>(status.st_size));
}

Result<> Spool::each_line(const std::function<Result<>(std::string_view)>& use) {
  std::string text(std::min(size_, 2 * kSpoolBytes), '\0');
  const ssize_t got = read_fully_at(file_.get(), text.data(), text.size(), 0);
  if (got < 0) return fail_path(errno, "read", "the journal's spool");
  std::string_view rest(text.data(), static_cast<size_t>(got));
  for (size_t end = rest.find('\n'); end != rest.npos; end = rest.find('\n')) {
    CHECKED(use(rest.substr(0, end)));
    rest.remove_prefix(end + 1);
  }
  return {};
}

Result<> Spool::append(std::string_view lines) {
  const ssize_t n = ::write(file_.get(), lines.data(), lines.size());
  if (n == static_cast<ssize_t>(lines.size())) {
    size_ += lines.size();
    return {};
  }
  const int err = n < 0 ? errno : ENOSPC;
  disk_faults::note(err);
  if (n > 0 && ::ftruncate(file_.get(), static_cast<off_t>(size_)) < 0)
    size_ = kSpoolBytes;  // half a line stays: no more lines after it
  return fail_path(err, "write", "the journal's spool");
}

void Spool::clear() {
  if (size_ > 0 && ::ftruncate(file_.get(), 0) == 0) size_ = 0;
}

}  // namespace journal
