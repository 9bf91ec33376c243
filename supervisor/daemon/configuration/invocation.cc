#include "supervisor/daemon/configuration/invocation.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

namespace configuration {

namespace fs = std::filesystem;

Invocation invocation_of(Flags flags) {
  std::error_code error;  // ignored: an unreadable folder makes relative paths fail where they are used
  return {.flags = std::move(flags),
          .by_root = ::geteuid() == 0,
          .folder = fs::current_path(error),
          .programs = fs::read_symlink("/proc/self/exe", error).parent_path().parent_path()};
}

std::string absolute_path(const std::string& path, const Invocation& invocation) {
  if (path.empty()) return path;
  return (fs::path(invocation.folder) / path).lexically_normal();
}

std::vector<std::string> folders_in(const std::string& list) {
  std::vector<std::string> folders;
  std::istringstream parts(list);
  for (std::string folder; std::getline(parts, folder, ':');)
    if (!folder.empty()) folders.push_back(folder);
  return folders;
}

std::string absolute_folders(const std::string& list, const Invocation& invocation) {
  std::string absolute;
  for (const auto& folder : folders_in(list))
    absolute += (absolute.empty() ? "" : ":") + absolute_path(folder, invocation);
  return absolute;
}

std::string default_file(const Invocation& invocation) {
  if (invocation.by_root) return "/etc/warder/warderd.json";
  const char* folder = std::getenv("XDG_CONFIG_HOME");
  if (folder && folder[0] == '/') return std::string(folder) + "/warder/warderd.json";
  const char* home = std::getenv("HOME");
  // Programs such as setpriv(1) change the user and leave HOME: another user's folder does not count.
  struct stat owner {};
  const bool is_own = home && home[0] == '/' && ::stat(home, &owner) == 0 && owner.st_uid == ::geteuid();
  return is_own ? std::string(home) + "/.config/warder/warderd.json" : "";
}

}  // namespace configuration
