// For LD_PRELOAD: clocks of a test's own. $SHIFTED_CLOCK names a file with three numbers of 64 bits: seconds that are
// added to CLOCK_REALTIME, to CLOCK_BOOTTIME, and to CLOCK_MONOTONIC, by which libuv's timers run. The test may change
// them at any time, the third one only to more. CLOCK_REALTIME_COARSE stays as it is: programs compare it with the
// times of files, which the kernel writes.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace {

struct Shifts {
  volatile int64_t wall_s, boot_s, timers_s;
};
const Shifts kNoShifts{0, 0, 0};

const Shifts& shifts() {
  static const Shifts* const mapped = [] {
    const char* file = ::getenv("SHIFTED_CLOCK");
    const int fd = file ? ::open(file, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0) return &kNoShifts;
    void* const at = ::mmap(nullptr, sizeof(Shifts), PROT_READ, MAP_SHARED, fd, 0);
    ::close(fd);
    return at == MAP_FAILED ? &kNoShifts : static_cast<const Shifts*>(at);
  }();
  return *mapped;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* now) noexcept {
  const long result = ::syscall(SYS_clock_gettime, clock, now);
  if (result != 0) return -1;
  if (clock == CLOCK_REALTIME) now->tv_sec += shifts().wall_s;
  if (clock == CLOCK_BOOTTIME) now->tv_sec += shifts().boot_s;
  if (clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_COARSE) now->tv_sec += shifts().timers_s;
  return 0;
}

time_t time(time_t* seconds) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (seconds) *seconds = now.tv_sec;
  return now.tv_sec;
}

int gettimeofday(timeval* now, void*) noexcept {
  timespec precise{};
  clock_gettime(CLOCK_REALTIME, &precise);
  *now = {precise.tv_sec, precise.tv_nsec / 1000};
  return 0;
}
}
