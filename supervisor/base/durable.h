// Durable writes: the only callers of fsync(2) and fdatasync(2) in the product (tests/lint/banned_calls.py holds that).
// Both wait for a disk, milliseconds on a fast one and seconds on a busy one, so they belong on a WorkerThread or
// before the loop runs. A call on a thread whose Loop runs makes every tenant wait: it is a bug, logged once and
// counted.
#pragma once
#include <cstdint>

namespace durable {

// Returns when what was written to the file is on the disk (fdatasync(2)). 0, or the errno.
int sync_data(int fd);
// The same with all that the file system knows of the file; of a directory, its names (fsync(2)). 0, or the errno.
int sync_file(int fd);

// Calls of both since the process began: all, and those on a thread whose loop ran.
uint64_t calls();
uint64_t calls_on_loop();

}  // namespace durable
