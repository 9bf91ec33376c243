#include "supervisor/base/durable.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "supervisor/base/disk_faults.h"
#include "supervisor/base/log.h"
#include "supervisor/base/loop.h"

namespace durable {
namespace {

std::atomic<uint64_t> all{0}, on_loop{0};

void count() {
  all++;
  if (Loop::runs_on_this_thread() && on_loop++ == 0)
    log_error("bug: the event loop waits for a disk, and all clients wait with it");
}

int judged(int result) {
  const int error = result < 0 ? errno : 0;
  disk_faults::note(error);
  return error;
}

}  // namespace

int sync_data(int fd) {
  count();
  return judged(::fdatasync(fd));
}

int sync_file(int fd) {
  count();
  return judged(::fsync(fd));
}

int sync_file_system(int fd) {
  count();
  return judged(::syncfs(fd));
}

uint64_t calls() { return all; }
uint64_t calls_on_loop() { return on_loop; }

}  // namespace durable
