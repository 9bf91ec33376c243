// System functions that fail as on a disk with a bad block, EIO, where the environment says so:
//   FAIL_IN     the end of the path of a folder, or of a file
//   FAIL_AFTER  how many entries of the folder come before the error; "." and ".." do not count
//   FAIL_IF     only while this file exists; without the variable: always
//   FAIL_USER   the name of a user whom getpwnam_r(3) cannot look up; it wants a buffer of some KiB first
//   FAIL_READ   the end of the path of a file that read(2) and pread(2) cannot read from the offset FAIL_AT on
// Of lseek(2) only SEEK_DATA fails. Linked into failing_reads_tests, and preloaded into programs
// (failing_reads_test.py).
#undef _FORTIFY_SOURCE  // its read(2) is an inline function, which cannot be defined again
#include <dirent.h>
#include <dlfcn.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

namespace {

bool is_failing(int descriptor, const char* variable = "FAIL_IN") {
  const char *end = ::getenv(variable), *condition = ::getenv("FAIL_IF");
  if (!end || (condition && ::access(condition, F_OK) != 0)) return false;
  char path[4096], link[64];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t size = ::readlink(link, path, sizeof path);
  return size > 0 && std::string(path, static_cast<size_t>(size)).ends_with(end);
}

// Entries of each open folder so far. Not destroyed: other code may read folders until the process ends.
struct EntryCounts {
  std::mutex mutex;
  std::map<DIR*, int> by_folder;
};
EntryCounts& counts() {
  static auto* all = new EntryCounts;
  return *all;
}

template <class Function>
Function* next_function(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

// How many of `size` bytes at `offset` can be read; 0: the first one is bad.
size_t readable_bytes(int file, size_t size, off_t offset) {
  const int before = errno;
  const bool fails = size > 0 && is_failing(file, "FAIL_READ");
  errno = before;
  if (!fails) return size;
  const char* first_bad = ::getenv("FAIL_AT");
  const off_t good = (first_bad ? std::atoll(first_bad) : 0) - offset;
  return good <= 0 ? 0 : std::min(size, static_cast<size_t>(good));
}

}  // namespace

extern "C" {

ssize_t read(int file, void* bytes, size_t size) {
  static const auto next = next_function<ssize_t(int, void*, size_t)>("read");
  const bool may_fail = ::getenv("FAIL_READ") != nullptr;
  const int before = errno;
  const off_t offset = may_fail ? ::lseek(file, 0, SEEK_CUR) : 0;  // -1: a pipe
  errno = before;
  const size_t readable = may_fail ? readable_bytes(file, size, std::max<off_t>(offset, 0)) : size;
  if (readable > 0 || size == 0) return next(file, bytes, readable);
  errno = EIO;
  return -1;
}

ssize_t pread(int file, void* bytes, size_t size, off_t offset) {
  static const auto next = next_function<ssize_t(int, void*, size_t, off_t)>("pread");
  const size_t readable = readable_bytes(file, size, offset);
  if (readable > 0 || size == 0) return next(file, bytes, readable, offset);
  errno = EIO;
  return -1;
}
ssize_t pread64(int file, void* bytes, size_t size, off64_t offset) { return pread(file, bytes, size, offset); }

// The same, called by code with _FORTIFY_SOURCE.
ssize_t __read_chk(int file, void* bytes, size_t size, size_t) { return read(file, bytes, size); }
ssize_t __pread_chk(int file, void* bytes, size_t size, off_t offset, size_t) {
  return pread(file, bytes, size, offset);
}

dirent* readdir(DIR* folder) {
  const int before = errno;
  const bool fails = is_failing(::dirfd(folder));
  errno = before;
  dirent* entry = next_function<dirent*(DIR*)>("readdir")(folder);
  if (!fails || !entry || !std::strcmp(entry->d_name, ".") || !std::strcmp(entry->d_name, "..")) return entry;
  const std::lock_guard lock(counts().mutex);
  if (counts().by_folder[folder]++ < std::atoi(::getenv("FAIL_AFTER"))) return entry;
  errno = EIO;
  return nullptr;
}
dirent64* readdir64(DIR* folder) { return reinterpret_cast<dirent64*>(readdir(folder)); }  // the same struct on 64 bits

int closedir(DIR* folder) {
  {
    const std::lock_guard lock(counts().mutex);
    counts().by_folder.erase(folder);
  }
  return next_function<int(DIR*)>("closedir")(folder);
}

off_t lseek(int file, off_t offset, int whence) noexcept {
  if (whence == SEEK_DATA && is_failing(file)) {
    errno = EIO;
    return -1;
  }
  return next_function<off_t(int, off_t, int)>("lseek")(file, offset, whence);
}

int getpwnam_r(const char* name, passwd* entry, char* text, size_t size, passwd** match) {
  const char* failing = ::getenv("FAIL_USER");
  if (!failing || std::strcmp(failing, name) != 0)
    return next_function<int(const char*, passwd*, char*, size_t, passwd**)>("getpwnam_r")(name, entry, text, size,
                                                                                           match);
  *match = nullptr;
  return size < 4096 ? ERANGE : EIO;
}

}  // extern "C"
