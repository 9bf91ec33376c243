#include "jail/zygote/pages.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace jail::zygote {
namespace {

constexpr uintptr_t kPage = 4096;
constexpr int kRehearsalLimitMs = 10'000;  // usually a millisecond
constexpr int kMostRanges = 1024;

// One word of /proc/PID/pagemap.
constexpr uint64_t kPresent = uint64_t{1} << 63;
constexpr uint64_t kExclusive = uint64_t{1} << 56;  // mapped by no other process

struct Range {
  uintptr_t start;
  uint32_t pages;
  bool is_written;
};

Range ranges[kMostRanges];
int range_count = 0;

// Adds the pages of one mapping: pages of its own where it is writable, present ones of a file where it is not.
// Neighbours become one range.
void add_mapping(int pagemap, uintptr_t from, uintptr_t to, bool is_writable) {
  const uint64_t sought = kPresent | (is_writable ? kExclusive : 0);
  uint64_t words[512];
  for (uintptr_t at = from; at < to;) {
    const uintptr_t left = (to - at) / kPage, count = left < 512 ? left : 512;
    const ssize_t n =
        ::pread(pagemap, words, count * sizeof(uint64_t), static_cast<off_t>(at / kPage * sizeof(uint64_t)));
    if (n < static_cast<ssize_t>(sizeof(uint64_t))) return;
    const uintptr_t got = static_cast<uintptr_t>(n) / sizeof(uint64_t);
    for (uintptr_t i = 0; i < got; i++, at += kPage) {
      if ((words[i] & sought) != sought) continue;
      Range* last = range_count > 0 ? &ranges[range_count - 1] : nullptr;
      if (last && last->is_written == is_writable && last->start + last->pages * kPage == at) {
        last->pages++;
      } else if (range_count < kMostRanges) {
        ranges[range_count++] = {at, 1, is_writable};
      }
    }
  }
}

void read_page_tables() {
  FILE* maps = ::fopen("/proc/self/maps", "re");
  const int pagemap = ::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  unsigned long from = 0, to = 0, inode = 0;
  char rights[8]{}, line[512];
  while (maps && pagemap >= 0 && ::fgets(line, sizeof line, maps)) {
    if (sscanf(line, "%lx-%lx %7s %*s %*s %lu", &from, &to, rights, &inode) != 4) continue;
    const bool is_private = rights[3] == 'p', is_writable = rights[1] == 'w';
    if (is_private && (is_writable || inode != 0)) add_mapping(pagemap, from, to, is_writable);
  }
  if (maps) ::fclose(maps);
  if (pagemap >= 0) ::close(pagemap);
}

bool write_all(int fd, const void* data, size_t size) {
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t n = ::write(fd, at, size);
    if (n <= 0) return false;
    at += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

[[noreturn]] void rehearse_and_tell(int to, void (*rehearse)()) {
  rehearse();
  read_page_tables();
  write_all(to, ranges, sizeof(Range) * static_cast<size_t>(range_count));
  ::_exit(0);
}

// Reads until the end. False when the copy takes too long.
bool read_ranges(int from) {
  size_t size = 0;
  for (;;) {
    pollfd waiting{from, POLLIN, 0};
    if (::poll(&waiting, 1, kRehearsalLimitMs) != 1) return false;
    const ssize_t n = ::read(from, reinterpret_cast<char*>(ranges) + size, sizeof ranges - size);
    if (n < 0) return false;
    size += static_cast<size_t>(n);
    if (n > 0 && size < sizeof ranges) continue;
    if (size % sizeof(Range) != 0) return false;
    range_count = static_cast<int>(size / sizeof(Range));
    return true;
  }
}

}  // namespace

void learn_pages(void (*rehearse)()) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) < 0) return;
  const pid_t pid = ::fork();
  if (pid == 0) rehearse_and_tell(ends[1], rehearse);
  ::close(ends[1]);
  if (pid > 0 && !read_ranges(ends[0])) range_count = 0;
  ::close(ends[0]);
  if (pid > 0) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
}

void touch_pages() {
  for (int i = 0; i < range_count; i++) {
    const Range& range = ranges[i];
    (void)::madvise(reinterpret_cast<void*>(range.start), range.pages * kPage,
                    range.is_written ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);
  }
}

}  // namespace jail::zygote
