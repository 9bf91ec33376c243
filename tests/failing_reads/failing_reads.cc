// System functions that fail as on a disk with a bad block, EIO, where the environment says so:
//   FAIL_IN     the end of the path of a folder, or of a file
//   FAIL_AFTER  how many entries of the folder come before the error; "." and ".." do not count
//   FAIL_IF     only while this file exists; without the variable: always
//   FAIL_USER   the name of a user whom getpwnam_r(3) cannot look up; it wants a buffer of some KiB first
// Of lseek(2) only SEEK_DATA fails. Linked into failing_reads_tests, and preloaded into programs
// (failing_reads_test.py).
#include <dirent.h>
#include <dlfcn.h>
#include <pwd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

namespace {

bool is_failing(int descriptor) {
  const char *end = ::getenv("FAIL_IN"), *condition = ::getenv("FAIL_IF");
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

}  // namespace

extern "C" {

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

int getpwnam_r(const char* name, passwd* entry, char* text, size_t size, passwd** found) {
  const char* failing = ::getenv("FAIL_USER");
  if (!failing || std::strcmp(failing, name) != 0)
    return next_function<int(const char*, passwd*, char*, size_t, passwd**)>("getpwnam_r")(name, entry, text, size,
                                                                                           found);
  *found = nullptr;
  return size < 4096 ? ERANGE : EIO;
}

}  // extern "C"
