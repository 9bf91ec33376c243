#include "jail/shared_values.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace jail {
namespace {

constexpr unsigned kNoExecSeal = 0x0008;  // MFD_NOEXEC_SEAL, since Linux 6.3; glibc 2.36 does not have the name

}  // namespace

Result<std::shared_ptr<SharedValues>> SharedValues::make(uint64_t bytes) {
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  bytes -= bytes % page;
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  Fd file(::memfd_create("warder-values", kFlags | kNoExecSeal));
  if (!file && errno == EINVAL) file = Fd(::memfd_create("warder-values", kFlags));
  if (!file) return fail_errno(errno, "memfd_create");
  if (::ftruncate(file.get(), static_cast<off_t>(bytes)) < 0) return fail_errno(errno, "ftruncate the shared values");
  if (::fcntl(file.get(), F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK) < 0)
    return fail_errno(errno, "seal the size of the shared values");
  struct stat status {};
  if (::fstat(file.get(), &status) < 0) return fail_errno(errno, "fstat the shared values");
  // Opened again: the kernel does not count the description of memfd_create(2) as a writer (fs/locks.c,
  // check_conflicting_open).
  const std::string name = fmt::format("/proc/self/fd/{}", file.get());
  Fd saved(::open(name.c_str(), O_RDWR | O_CLOEXEC)), writer(::open(name.c_str(), O_RDWR | O_CLOEXEC));
  if (!saved || !writer) return fail_errno(errno, "open the shared values");
  std::shared_ptr<SharedValues> values(new SharedValues(std::move(saved), std::move(writer), bytes));
  values->device_ = status.st_dev;
  values->inode_ = status.st_ino;
  return values;
}

Result<> SharedValues::seal() {
  writer_.reset();
  if (::fcntl(file_.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SEAL) == 0) return {};
  const int number = errno;
  if (number == EBUSY)
    return fail(Code::unavailable, "the session still has its shared values mapped for writing",
                "end processes and threads of the session that look into other processes' descriptors");
  return fail_errno(number, "seal the shared values", Code::unavailable);
}

bool SharedValues::is_held() {
  writer_.reset();
  if (::fcntl(file_.get(), F_SETLEASE, F_WRLCK) < 0) return true;
  (void)::fcntl(file_.get(), F_SETLEASE, F_UNLCK);
  return false;
}

}  // namespace jail
