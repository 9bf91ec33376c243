#include "jail/zygote/descriptors.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "jail/plan.h"

namespace jail::zygote {
namespace {

constexpr int kMax = 64;      // Node has fifteen
constexpr int kMaxBytes = 8;  // in a pipe: libuv keeps one byte in the pipe that it uses as a lock

enum class Kind { epoll, event, pipe, null };

struct NotedDescriptor {
  int number;
  Kind kind;
  int flags;    // fcntl(2), F_GETFL
  ino_t inode;  // pipe: the same for both ends
  int bytes;    // pipe: bytes not read yet
};

NotedDescriptor noted[kMax];
int count = 0;

bool is_null(const struct stat& info) {
  return S_ISCHR(info.st_mode) && major(info.st_rdev) == 1 && minor(info.st_rdev) == 3;
}

int note(int number) {
  char path[48], target[64]{};
  snprintf(path, sizeof path, "/proc/self/fd/%d", number);
  struct stat info {};
  if (::readlink(path, target, sizeof target - 1) < 0 || ::fstat(number, &info) < 0) return errno;
  if (number <= kPlanFd) return is_null(info) ? 0 : ENOTSUP;  // a number that a copy uses itself while it is built
  NotedDescriptor it{number, Kind::null, ::fcntl(number, F_GETFL), info.st_ino, 0};
  if (strcmp(target, "anon_inode:[eventpoll]") == 0) {
    it.kind = Kind::epoll;
  } else if (strcmp(target, "anon_inode:[eventfd]") == 0) {
    it.kind = Kind::event;
  } else if (S_ISFIFO(info.st_mode)) {
    it.kind = Kind::pipe;
    if (::ioctl(number, FIONREAD, &it.bytes) < 0) return errno;
  } else if (!is_null(info)) {
    return ENOTSUP;
  }
  if (count == kMax || it.bytes > kMaxBytes) return ENOTSUP;
  noted[count++] = it;
  return 0;
}

// The other end of the pipe `end`, or nullptr.
const NotedDescriptor* other_end(const NotedDescriptor& end) {
  for (int i = 0; i < count; i++) {
    if (&noted[i] != &end && noted[i].kind == Kind::pipe && noted[i].inode == end.inode) return &noted[i];
  }
  return nullptr;
}

bool is_writing(const NotedDescriptor& end) { return (end.flags & O_ACCMODE) == O_WRONLY; }

// Moves a new descriptor to `number`. The kernel may have given it any free number, even one meant for another
// descriptor.
int put_at(int created, int number) {
  if (created < 0) return errno;
  if (created == number) return 0;
  int error = ::dup3(created, number, O_CLOEXEC) < 0 ? errno : 0;
  ::close(created);
  return error;
}

int make_pipe(const NotedDescriptor& reading, const NotedDescriptor& writing) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | (reading.flags & O_NONBLOCK)) < 0) return errno;
  const char bytes[kMaxBytes]{};
  if (reading.bytes > 0 && ::write(ends[1], bytes, static_cast<size_t>(reading.bytes)) != reading.bytes) return EIO;
  // Moves the end above all recorded numbers first: its number could be the one that the other end must get.
  int high = ::fcntl(ends[1], F_DUPFD_CLOEXEC, noted[count - 1].number + 1);
  ::close(ends[1]);
  int error = put_at(ends[0], reading.number);
  int last = put_at(high, writing.number);
  return error ? error : last;
}

int make(const NotedDescriptor& it) {
  switch (it.kind) {
    case Kind::epoll:
      return put_at(::epoll_create1(EPOLL_CLOEXEC), it.number);
    case Kind::event:
      return put_at(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), it.number);
    case Kind::pipe: {
      const NotedDescriptor* writing = other_end(it);
      return is_writing(it) ? 0 : make_pipe(it, *writing);
    }
    case Kind::null:
      return put_at(::open("/dev/null", (it.flags & O_ACCMODE) | O_CLOEXEC), it.number);
  }
  return EINVAL;
}

int by_number(const void* a, const void* b) {
  return static_cast<const NotedDescriptor*>(a)->number - static_cast<const NotedDescriptor*>(b)->number;
}

}  // namespace

int note_descriptors() {
  DIR* directory = ::opendir("/proc/self/fd");
  if (!directory) return errno;
  int error = 0;
  count = 0;
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(directory);
    if (!entry) {
      if (!error) error = errno;
      break;
    }
    int number = atoi(entry->d_name);
    if (number > kGuestFd && number != ::dirfd(directory) && !error) error = note(number);
  }
  ::closedir(directory);
  if (error) return error;
  qsort(noted, static_cast<size_t>(count), sizeof noted[0], by_number);
  for (int i = 0; i < count; i++) {
    if (noted[i].kind != Kind::pipe) continue;
    const NotedDescriptor* other = other_end(noted[i]);
    if (!other || is_writing(*other) == is_writing(noted[i])) return ENOTSUP;  // another process has the other end
  }
  for (int last = count > 0 ? noted[count - 1].number : 0;;) {
    int filler = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (filler < 0) return errno;
    if (filler > last) return ::close(filler), 0;
  }
}

int make_descriptors() {
  for (int i = 0; i < count; i++) {
    if (int error = make(noted[i])) return error;
  }
  return 0;
}

}  // namespace jail::zygote
