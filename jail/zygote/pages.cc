#include "jail/zygote/pages.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jail/plan.h"

namespace jail::zygote {
namespace {

constexpr uintptr_t kPage = 4096;
constexpr int kProgramLimitMs = 10'000;  // usually a millisecond
constexpr int kMaxRanges = 1024;

// One word of /proc/PID/pagemap.
constexpr uint64_t kPresent = uint64_t{1} << 63;
constexpr uint64_t kExclusive = uint64_t{1} << 56;  // mapped by no other process

struct Range {
  uintptr_t start;
  uint32_t pages;
  bool is_written;
};

Range ranges[kMaxRanges];
int range_count = 0;

// Adds the pages of one mapping: pages of its own where it is writable, present ones of a file where it is not.
// Neighbours become one range.
void add_mapping(int pagemap, uintptr_t from, uintptr_t to, bool is_writable) {
  const uint64_t sought = kPresent | (is_writable ? kExclusive : 0);
  uint64_t words[512];
  for (uintptr_t at = from; at < to;) {
    const uintptr_t remaining = (to - at) / kPage, count = remaining < 512 ? remaining : 512;
    const ssize_t n =
        ::pread(pagemap, words, count * sizeof(uint64_t), static_cast<off_t>(at / kPage * sizeof(uint64_t)));
    if (n < static_cast<ssize_t>(sizeof(uint64_t))) return;
    const uintptr_t got = static_cast<uintptr_t>(n) / sizeof(uint64_t);
    for (uintptr_t i = 0; i < got; i++, at += kPage) {
      if ((words[i] & sought) != sought) continue;
      Range* last = range_count > 0 ? &ranges[range_count - 1] : nullptr;
      if (last && last->is_written == is_writable && last->start + last->pages * kPage == at) {
        last->pages++;
      } else if (range_count < kMaxRanges) {
        ranges[range_count++] = {at, 1, is_writable};
      }
    }
  }
}

void read_page_tables(pid_t pid) {
  char path[32], line[512], rights[8]{};
  snprintf(path, sizeof path, "/proc/%d/maps", pid);
  FILE* maps = ::fopen(path, "re");
  snprintf(path, sizeof path, "/proc/%d/pagemap", pid);
  const int pagemap = ::open(path, O_RDONLY | O_CLOEXEC);
  unsigned long from = 0, to = 0, inode = 0;
  while (maps && pagemap >= 0 && ::fgets(line, sizeof line, maps)) {
    if (sscanf(line, "%lx-%lx %7s %*s %*s %lu", &from, &to, rights, &inode) != 4) continue;
    const bool is_private = rights[3] == 'p', is_writable = rights[1] == 'w';
    if (is_private && (is_writable || inode != 0)) add_mapping(pagemap, from, to, is_writable);
  }
  if (maps) ::fclose(maps);
  if (pagemap >= 0) ::close(pagemap);
}

// The order of the copy's program, as the daemon sends it (jail/guest/README.md).
constexpr char kOrder[] =
    "F{\"type\":\"run\",\"execution\":\"e01e100\",\"code\":\"result = [1]\\nresult\",\"workspace\":\"/workspace\","
    "\"context_vars\":{},\"max_message\":8388608}";
constexpr char kReady[] = "F{\"type\":\"ready\"", kResult[] = "F{\"type\":\"result\"";

bool hears(int socket, const char* beginning) {
  pollfd waiting{socket, POLLIN, 0};
  if (::poll(&waiting, 1, kProgramLimitMs) != 1) return false;
  char message[512];
  const ssize_t size = ::recv(socket, message, sizeof message, MSG_DONTWAIT);
  const size_t expected = strlen(beginning);
  return size >= static_cast<ssize_t>(expected) && memcmp(message, beginning, expected) == 0;
}

}  // namespace

void learn_pages(void (*live)()) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) return;
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (::dup2(ends[1], kGuestFd) < 0 || ::syscall(SYS_close_range, kGuestFd + 1, ~0u, 0) < 0) ::_exit(126);
    live();
    ::_exit(126);
  }
  ::close(ends[1]);
  const bool sent = pid > 0 && ::send(ends[0], kOrder, sizeof kOrder - 1, MSG_NOSIGNAL) > 0;
  if (sent && hears(ends[0], kReady) && hears(ends[0], kResult)) read_page_tables(pid);
  ::close(ends[0]);
  if (pid <= 0) return;
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
}

void touch_pages() {
  for (int i = 0; i < range_count; i++) {
    const Range& range = ranges[i];
    (void)::madvise(reinterpret_cast<void*>(range.start), range.pages * kPage,
                    range.is_written ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);
  }
}

}  // namespace jail::zygote
