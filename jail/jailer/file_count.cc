#include "jail/jailer/file_count.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <string_view>
#include <utility>
#include <vector>

#include "jail/short_text.h"
#include "supervisor/base/fd.h"

namespace jail {
namespace {

constexpr size_t kMaxProcesses = 1024, kMaxThreads = 4096, kMaxDescriptors = 200'000, kMaxMappings = 200'000;
constexpr size_t kMaxTables = 4;  // different tables of descriptors in one process that are distinguished
constexpr uint64_t kMaxCpuNs = 2'000'000'000;
constexpr uint64_t kBlock = 512;  // the unit of st_blocks

using Path = ShortText<128>;

// Calls `use` with the names of a folder below /proc, threads or descriptors, until it returns false. The processes may
// end meanwhile: an error is the end, as the bounds of the count are. False: the folder cannot be opened.
template <class Use>
bool each_name(const Path& path, Use use) {
  const Fd folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return false;
  alignas(dirent64) char entries[8192];
  for (;;) {
    const long bytes = syscall(SYS_getdents64, folder.get(), entries, sizeof entries);
    for (long at = 0; at < bytes;) {
      const auto* entry = reinterpret_cast<const dirent64*>(entries + at);
      at += entry->d_reclen;
      if (entry->d_name[0] != '.' && !use(folder.get(), entry->d_name)) return true;
    }
    if (bytes <= 0) return true;
  }
}

std::optional<int> number_of(const char* name) {
  int number = 0;
  const char* end = name + strlen(name);
  const auto [rest, error] = std::from_chars(name, end, number);
  if (error != std::errc() || rest != end || number < 0) return std::nullopt;
  return number;
}

// One inode without a name. `is_estimate`: the bytes are the length of a mapping, and a descriptor knows better.
struct Inode {
  uint64_t number;
  bool is_estimate;
  uint64_t bytes;
};

class Count {
 public:
  explicit Count(uint64_t device) : device_(device) {}

  HeldFiles of(int init_pid) {
    pids_.push_back(init_pid);
    for (size_t i = 0; i < pids_.size() && !is_late(); i++) look_at_process(pids_[i]);
    std::sort(inodes_.begin(), inodes_.end(), [](const Inode& a, const Inode& b) {
      return a.number != b.number ? a.number < b.number : a.is_estimate < b.is_estimate;
    });
    const auto last = std::unique(inodes_.begin(), inodes_.end(),
                                  [](const Inode& a, const Inode& b) { return a.number == b.number; });
    held_files_.files = static_cast<uint64_t>(last - inodes_.begin());
    std::for_each(inodes_.begin(), last, [this](const Inode& inode) { held_files_.bytes += inode.bytes; });
    return held_files_;
  }

 private:
  // True when the time is used up.
  bool is_late() {
    timespec used{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    const uint64_t ns = static_cast<uint64_t>(used.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(used.tv_nsec);
    if (ns > kMaxCpuNs) held_files_.is_partial = true;
    return ns > kMaxCpuNs;
  }

  // Counts one more against the bound. False: it is one too many.
  bool take(size_t& counted, size_t bound) {
    if (++counted <= bound) return true;
    held_files_.is_partial = true;
    return false;
  }

  void note_denial() {
    if (errno == EACCES || errno == EPERM) held_files_.is_denied = true;
  }

  // Opens what follows with the rights of the file's owner: the jailer has no capability that reads files of others.
  // The kernel asks for CAP_SYS_PTRACE, too, which the jailer has in the user namespaces that it made
  // (user_namespaces(7)).
  static void act_as_owner_of(const Path& path) {
    struct stat file {};
    if (stat(path.c_str(), &file) < 0) return;
    syscall(SYS_setfsuid, file.st_uid);
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // a change of the id clears it
  }

  void look_at_process(int pid) {
    Path path;
    path << "/proc/" << static_cast<uint64_t>(pid) << "/task";
    int tables[kMaxTables] = {};
    size_t count = 0;
    int last_thread = 0;
    each_name(path, [&](int, const char* name) {
      const auto thread = number_of(name);
      if (!thread) return true;
      if (!take(threads_, kMaxThreads) || is_late()) return false;
      last_thread = *thread;
      add_children(pid, *thread);
      // Threads may have tables of their own (clone(2) without CLONE_FILES).
      const bool is_known = std::any_of(tables, tables + count, [thread](int other) {
        return syscall(SYS_kcmp, other, *thread, KCMP_FILES, 0, 0) == 0;
      });
      if (is_known) return true;
      if (count < kMaxTables) tables[count++] = *thread;
      look_at_descriptors(pid, *thread);
      return true;
    });
    // The first thread may have ended before the others.
    if (last_thread != 0) look_at_mappings(pid, last_thread);
    add_written(pid);
  }

  void add_children(int pid, int thread) {
    Path path;
    path << "/proc/" << static_cast<uint64_t>(pid) << "/task/" << static_cast<uint64_t>(thread) << "/children";
    each_word(path, ' ', [this](std::string_view word) {
      int child = 0;
      if (std::from_chars(word.data(), word.data() + word.size(), child).ec != std::errc()) return true;
      if (pids_.size() == kMaxProcesses) held_files_.is_partial = true;
      if (pids_.size() < kMaxProcesses) pids_.push_back(child);
      return !held_files_.is_partial;
    });
  }

  void look_at_descriptors(int pid, int thread) {
    Path path;
    path << "/proc/" << static_cast<uint64_t>(pid) << "/task/" << static_cast<uint64_t>(thread) << "/fd";
    act_as_owner_of(path);
    const bool is_open = each_name(path, [this](int folder, const char* name) {
      if (!take(descriptors_, kMaxDescriptors) || (descriptors_ % 256 == 0 && is_late())) return false;
      // This follows the link to the file without opening it.
      struct stat file {};
      if (fstatat(folder, name, &file, 0) == 0)
        add(file);
      else
        note_denial();
      return true;
    });
    if (!is_open) note_denial();
  }

  void add(const struct stat& file) {
    if (file.st_nlink > 0 || file.st_dev != device_) return;
    inodes_.push_back({file.st_ino, false, static_cast<uint64_t>(file.st_blocks) * kBlock});
  }

  // proc(5), maps: "start-end perms offset major:minor inode path", with " (deleted)" behind the path of a file without
  // that name.
  void look_at_mappings(int pid, int thread) {
    Path path;
    path << "/proc/" << static_cast<uint64_t>(pid) << "/task/" << static_cast<uint64_t>(thread) << "/maps";
    act_as_owner_of(path);
    each_word(path, '\n', [this, pid](std::string_view line) {
      if (!take(mappings_, kMaxMappings) || (mappings_ % 256 == 0 && is_late())) return false;
      constexpr std::string_view kDeleted = " (deleted)";
      if (line.ends_with(kDeleted)) look_at_mapping(pid, line);
      return true;
    });
  }

  void look_at_mapping(int pid, std::string_view line) {
    const size_t dash = line.find('-'), space = line.find(' ');
    if (dash == line.npos || space == line.npos || space < dash) return;
    uint64_t start = 0, end = 0;
    if (std::from_chars(line.data(), line.data() + dash, start, 16).ec != std::errc() ||
        std::from_chars(line.data() + dash + 1, line.data() + space, end, 16).ec != std::errc() || end < start)
      return;
    Path path;
    path << "/proc/" << static_cast<uint64_t>(pid) << "/map_files/";
    path.hex(start).add('-');
    path.hex(end);
    struct stat file {};
    if (stat(path.c_str(), &file) == 0) return add(file);
    if (errno == EPERM || errno == EACCES) estimate(line.substr(space + 1), end - start);
  }

  // An ordinary user may not follow links of map_files: the length of the mapping stands for the size of the file.
  // `rest`: "perms offset major:minor inode path".
  void estimate(std::string_view rest, uint64_t length) {
    for (int skipped = 0; skipped < 2; skipped++) rest.remove_prefix(std::min(rest.find(' '), rest.size() - 1) + 1);
    const size_t colon = rest.find(':'), space = rest.find(' ');
    if (colon == rest.npos || space == rest.npos || space < colon) return;
    unsigned major_number = 0, minor_number = 0;
    uint64_t inode = 0;
    if (std::from_chars(rest.data(), rest.data() + colon, major_number, 16).ec != std::errc() ||
        std::from_chars(rest.data() + colon + 1, rest.data() + space, minor_number, 16).ec != std::errc() ||
        std::from_chars(rest.data() + space + 1, rest.data() + rest.size(), inode).ec != std::errc())
      return;
    if (makedev(major_number, minor_number) == device_ && inode != 0) inodes_.push_back({inode, true, length});
  }

  // proc(5), io: "wchar" counts write(2) and its like, "write_bytes" pages that were made dirty, also by mappings. A
  // memory file system has the first only.
  void add_written(int pid) {
    Path path;
    path << "/proc/" << static_cast<uint64_t>(pid) << "/io";
    act_as_owner_of(path);
    uint64_t called = 0, dirtied = 0;
    each_word(path, '\n', [&](std::string_view line) {
      for (const auto& [key, value] :
           {std::pair<std::string_view, uint64_t*>{"wchar: ", &called}, {"write_bytes: ", &dirtied}})
        if (line.starts_with(key)) (void)std::from_chars(line.data() + key.size(), line.data() + line.size(), *value);
      return true;
    });
    held_files_.written += std::max(called, dirtied);
  }

  // Calls `use` with each part of the file between two separators, until it returns false. Parts are shorter than the
  // buffer: a path in maps has at most 4,096 bytes, a few more where characters are written as numbers; a longer part
  // is cut.
  template <class Use>
  void each_word(const Path& path, char separator, Use use) {
    const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return note_denial();
    size_t size = 0;
    for (;;) {
      const ssize_t n = read(file.get(), buffer_ + size, sizeof buffer_ - size);
      if (n <= 0) {
        if (size > 0) (void)use(std::string_view(buffer_, size));
        return;
      }
      size += static_cast<size_t>(n);
      size_t begin = 0;
      for (;;) {
        const auto* end = static_cast<const char*>(memchr(buffer_ + begin, separator, size - begin));
        if (end == nullptr) break;
        const size_t at = static_cast<size_t>(end - buffer_);
        if (at > begin && !use(std::string_view(buffer_ + begin, at - begin))) return;
        begin = at + 1;
      }
      memmove(buffer_, buffer_ + begin, size - begin);
      size -= begin;
      if (size == sizeof buffer_) size = 0;
    }
  }

  const uint64_t device_;
  HeldFiles held_files_;
  std::vector<int> pids_;
  std::vector<Inode> inodes_;
  size_t threads_ = 0, descriptors_ = 0, mappings_ = 0;
  char buffer_[32768];
};

}  // namespace

std::optional<uint64_t> workspace_device(int init_pid) {
  Path path;
  path << "/proc/" << static_cast<uint64_t>(init_pid) << "/root/workspace";
  const Fd workspace(open(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info {};
  if (!workspace || fstat(workspace.get(), &info) < 0) return std::nullopt;
  return info.st_dev;
}

HeldFiles count_held_files(int init_pid, uint64_t device) { return Count(device).of(init_pid); }

}  // namespace jail
