#include "jail/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "supervisor/base/fd.h"

namespace jail {
namespace {

constexpr size_t kMostProcesses = 1024;

std::string read_text(const std::string& path) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text(8192, '\0');
  ssize_t n = fd ? ::read(fd.get(), text.data(), text.size()) : 0;
  text.resize(n > 0 ? static_cast<size_t>(n) : 0);
  return text;
}

// Adds the children of every thread of `pid`; returns the number of threads.
uint32_t add_children(int pid, std::vector<int>& found) {
  std::string tasks = fmt::format("/proc/{}/task", pid);
  std::unique_ptr<DIR, int (*)(DIR*)> listing(::opendir(tasks.c_str()), ::closedir);
  if (!listing) return 0;
  uint32_t threads = 0;
  while (dirent* entry = ::readdir(listing.get())) {
    if (entry->d_name[0] == '.') continue;
    threads++;
    std::string text = read_text(fmt::format("{}/{}/children", tasks, entry->d_name));
    const char* at = text.data();
    const char* end = at + text.size();
    while (at < end && found.size() < kMostProcesses) {
      int child = 0;
      auto [next, error] = std::from_chars(at, end, child);
      if (error != std::errc{}) break;
      found.push_back(child);
      at = next + 1;
    }
  }
  return threads;
}

}  // namespace

TreeUsage read_process_tree(int init_pid) {
  TreeUsage usage;
  if (init_pid <= 0) return usage;
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  std::vector<int> found;
  add_children(init_pid, found);
  for (size_t i = 0; i < found.size(); i++) {
    usage.tasks += add_children(found[i], found);
    unsigned long size = 0, resident = 0, shared = 0;
    if (std::sscanf(read_text(fmt::format("/proc/{}/statm", found[i])).c_str(), "%lu %lu %lu", &size, &resident,
                    &shared) == 3 &&
        resident > shared)
      usage.private_bytes += (resident - shared) * page;
  }
  return usage;
}

}  // namespace jail
