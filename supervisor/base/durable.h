// Durable writes: the only callers of fsync(2), fdatasync(2) and syncfs(2) in the product (tests/lint/banned_calls.py
// checks this). All calls wait for a disk: milliseconds on a fast disk, seconds on a busy one. Call them on a
// WorkerThread or before the loop runs. A call on the thread of a running Loop makes every tenant wait: it is a bug,
// logged once and counted.
#pragma once
#include <cstdint>

namespace durable {

// Writes the file's data to the disk and waits for it (fdatasync(2)). Returns 0, or the errno.
int sync_data(int fd);
// Writes the file's data and all its metadata; for a directory, its names (fsync(2)). Returns 0, or the errno.
int sync_file(int fd);
// Writes all data and metadata of the file system that has the file (syncfs(2)), also those of other programs. For many
// files it is faster than a call for each. Returns 0, or the errno.
int sync_file_system(int fd);

// Calls of these functions since the process began: all calls, and the calls on the thread of a running loop.
uint64_t calls();
uint64_t calls_on_loop();

}  // namespace durable
