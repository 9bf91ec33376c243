#include "supervisor/tenants/layers/entry_rules.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "supervisor/base/folder.h"
#include "supervisor/base/log.h"
#include "supervisor/base/path.h"

namespace layers {
namespace {

constexpr size_t kShownPath = 200;

// The folders of /usr that packages have.
constexpr std::string_view kTopFolders[] = {"bin", "include", "lib", "lib64", "libexec", "sbin", "share"};
// Modules that Python imports at its start, if they exist.
constexpr std::string_view kStartModules[] = {"sitecustomize", "usercustomize"};
// Names that Warder gives to jailed code, or loads itself.
constexpr std::string_view kOwnModules[] = {"warder", "servers", "skills"};

tl::unexpected<Error> refuse_entry(std::string_view path, std::string_view why, std::string hint = {}) {
  return fail(Code::invalid, fmt::format("'{}' is refused: {}", printable(std::string(path), kShownPath), why),
              std::move(hint));
}

// Folders that the dynamic linker of Debian 12 and older looks into before the folder that has them: the names of
// processors (glibc's "legacy hwcaps"), and those of the kernel's own for each machine.
constexpr std::string_view kLinkerFolders[] = {"tls",      "x86_64",  "haswell", "xeon_phi",
                                               "avx512_1", "aarch64", "atomics"};
constexpr std::string_view kBytecodeFolder = "__pycache__";

template <size_t kCount>
bool is_one_of(std::string_view name, const std::string_view (&list)[kCount]) {
  return std::find(std::begin(list), std::end(list), name) != std::end(list);
}

// "six" for "six.py", "six.cpython-311-x86_64-linux-gnu.so" and "six".
std::string_view stem_of(std::string_view name) { return name.substr(0, name.find('.')); }

// Whether the dynamic linker would take the libraries of a path before those of /usr. It searches lib, lib64 and
// lib/x86_64-linux-gnu.
bool is_before_libraries(const std::vector<std::string>& parts) {
  if (parts[0] != "lib" && parts[0] != "lib64") return false;
  if (parts.size() > 1 && is_one_of(parts[1], kLinkerFolders)) return true;
  return parts.size() > 2 && parts[1].find("-linux-gnu") != std::string::npos && is_one_of(parts[2], kLinkerFolders);
}

// A file that changes where Python searches, before it has loaded a module: lib/python311.zip is its first folder.
bool is_search_path(const std::vector<std::string>& parts) {
  const std::string& name = parts.back();
  if (name.ends_with("._pth") || name == "pyvenv.cfg") return true;
  return parts.size() > 1 && parts[0].starts_with("lib") && parts[1].starts_with("python3") &&
         parts[1].ends_with(".zip");
}

// A folder that Python searches, and the rest of a path below it.
struct PythonPosition {
  std::string_view folder, rest;
};

// lib/python3/dist-packages, lib/python3.N and lib/python3.N/lib-dynload or dist-packages.
std::optional<PythonPosition> python_place_of(std::string_view path) {
  constexpr std::string_view kStart = "lib/python3";
  if (!path.starts_with(kStart)) return {};
  const size_t version_end = path.find('/', kStart.size());
  if (version_end == path.npos) return {};
  const std::string_view version = path.substr(kStart.size(), version_end - kStart.size());
  if (version.find_first_not_of(".0123456789") != version.npos) return {};
  for (std::string_view inner : {"dist-packages/", "site-packages/", "lib-dynload/"}) {
    if (!path.substr(version_end + 1).starts_with(inner)) continue;
    const size_t end = version_end + 1 + inner.size();
    return PythonPosition{path.substr(0, end - 1), path.substr(end)};
  }
  if (version.empty()) return {};
  return PythonPosition{path.substr(0, version_end), path.substr(version_end + 1)};
}

Result<> check_name(const LayerEntry& entry) {
  const std::string& path = entry.path;
  if (path.size() > kMaxLayerPathBytes)
    return refuse_entry(path, fmt::format("its path has more than {} bytes", kMaxLayerPathBytes));
  if (path.starts_with('/')) return refuse_entry(path, "its path is absolute");
  const auto parsed = RelativePath::parse(path);
  if (!parsed) return refuse_entry(path, parsed.error().what);
  if (parsed->text() != path || parsed->is_root()) return refuse_entry(path, "its path has an empty or '.' component");
  const auto parts = parsed->components();
  if (parts.size() > kMaxLayerDepth)
    return refuse_entry(path, fmt::format("it is nested deeper than {} folders", kMaxLayerDepth));
  if (!is_one_of(parts.front(), kTopFolders))
    return refuse_entry(path, parts.front() == "local" ? "programs find files in /usr/local before those of /usr"
                                                       : "packages have no such folder in /usr");
  for (const std::string& part : parts) {
    if (is_one_of(stem_of(part), kStartModules)) return refuse_entry(path, "Python would run it at every start");
    if (part == "glibc-hwcaps")
      return refuse_entry(path, "the dynamic linker would take its libraries before those of /usr");
    if (part.starts_with(".wh."))
      return refuse_entry(path, "names that begin with .wh. hide files in some file systems of layers");
  }
  if (is_before_libraries(parts))
    return refuse_entry(path, "the dynamic linker would take its libraries before those of /usr");
  if (is_search_path(parts)) return refuse_entry(path, "Python would search it, or as it says, before /usr");
  const std::string& name = parts.back();
  if (name.ends_with(".pth") || name.ends_with(".egg-link"))
    return refuse_entry(path, "Python would change its search path, and can be made to run code in it, at every start");
  return {};
}

Result<> check_modules(const LayerEntry& entry) {
  const std::string_view module = python_module_of(entry.path);
  if (!module.empty() && is_one_of(module, kOwnModules))
    return refuse_entry(entry.path, fmt::format("the module {} in jails is Warder's own", module));
  return {};
}

Result<> check_mode(const LayerEntry& entry) {
  if ((entry.mode & 07000) != 0) return refuse_entry(entry.path, "it has a set-user-id, set-group-id or sticky mode");
  const uint32_t expected_folder = 0755, expected_link = 0777;
  const bool right = entry.kind == EntryKind::folder ? entry.mode == expected_folder
                     : entry.kind == EntryKind::link ? entry.mode == expected_link
                                                     : entry.mode == 0644 || entry.mode == 0755;
  if (!right) return refuse_entry(entry.path, fmt::format("its mode {:o} is not that of a layer", entry.mode));
  return {};
}

// A link may lead to a place below /usr, in the layer or not: "../x", "/usr/lib/x".
Result<> check_target(const LayerEntry& entry) {
  const std::string& target = entry.target;
  if (target.empty() || target.size() > kMaxLayerPathBytes)
    return refuse_entry(entry.path, "it is a link without a target, or with a long one");
  if (target.find_first_of(std::string_view("\0\n\r\x1b", 4)) != target.npos)
    return refuse_entry(entry.path, "it is a link whose target has control characters");
  std::vector<std::string_view> position;  // folders below /usr that the target leads through
  std::string_view rest = target;
  if (rest.starts_with('/')) {
    if (!rest.starts_with("/usr/"))
      return refuse_entry(entry.path,
                          fmt::format("it is a link that leads out of /usr, to {}", printable(target, kShownPath)));
    rest.remove_prefix(5);
  } else {
    const std::string_view path = entry.path;
    for (size_t at = 0, end; (end = path.find('/', at)) != path.npos; at = end + 1)
      position.push_back(path.substr(at, end - at));
  }
  bool has_name = false;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('/'), rest.size());
    const std::string_view part = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      has_name = true;
    } else if (has_name || target.starts_with('/')) {
      // The name may be a link, and then its target's parent is not the folder that the text shows.
      return refuse_entry(entry.path, fmt::format("it is a link that leads back out of a folder, to {}",
                                                  printable(target, kShownPath)));
    } else if (position.empty()) {
      return refuse_entry(entry.path,
                          fmt::format("it is a link that leads out of /usr, to {}", printable(target, kShownPath)));
    } else {
      position.pop_back();
    }
  }
  return {};
}

bool is_extension_or_source(std::string_view file) {
  return file.ends_with(".py") || file.ends_with(".so") || file.ends_with(".pyc");
}

// The modules at the top of a folder of /usr that Python searches. The value: true for a folder without __init__.py,
// which several packages may share.
using PythonModules = std::map<std::string, bool, std::less<>>;
Result<PythonModules> modules_in(int usr, const std::string& folder) {
  PythonModules modules;
  Fd opened(::openat(usr, folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened && (errno == ENOENT || errno == ENOTDIR)) return modules;
  TRY(const auto names, read_names(FolderReader::of(std::move(opened), "/usr/" + folder)));
  for (const std::string& name : names) {
    if (name.starts_with('.') || name == kBytecodeFolder) continue;
    struct stat status {};
    const std::string path = folder + "/" + name;
    if (::fstatat(usr, path.c_str(), &status, 0) < 0) {
      if (errno == ENOENT || errno == ELOOP) continue;  // a link to no file
      return fail_path(errno, "look at", "/usr/" + path);
    }
    if (S_ISDIR(status.st_mode)) {
      if (name.find('.') != name.npos || name == "dist-packages" || name == "lib-dynload") continue;
      const bool is_shared = ::faccessat(usr, (path + "/__init__.py").c_str(), F_OK, 0) < 0 && errno == ENOENT;
      modules.emplace(name, is_shared);
    } else if (is_extension_or_source(name)) {
      modules[std::string(stem_of(name))] = false;
    }
  }
  return modules;
}

// The source of "a/__pycache__/six.cpython-311.opt-1.pyc" is "a/six.py". Empty for other paths.
std::string source_of_bytecode(std::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == path.npos || !path.ends_with(".pyc")) return {};
  std::string_view folder = path.substr(0, slash), name = path.substr(slash + 1);
  if (folder != kBytecodeFolder && !folder.ends_with(std::string("/") + std::string(kBytecodeFolder))) return {};
  folder.remove_suffix(kBytecodeFolder.size());
  name.remove_suffix(4);
  if (const size_t dot = name.rfind(".opt-"); dot != name.npos) name = name.substr(0, dot);
  return std::string(folder) + std::string(name.substr(0, name.rfind('.'))) + ".py";
}

// Python would run bytecode without a source in the layer for a source of /usr.
Result<> check_bytecode(const Manifest& manifest) {
  std::set<std::string_view> files;
  for (const LayerEntry& entry : manifest.entries)
    if (entry.kind == EntryKind::file) files.insert(entry.path);
  for (const LayerEntry& entry : manifest.entries) {
    if (entry.kind == EntryKind::folder) continue;
    const std::string source = source_of_bytecode(entry.path);
    if (!source.empty() && !files.contains(source))
      return refuse_entry(entry.path, "it is compiled, and the layer does not have its source",
                          "leave compiled modules out: the layer's build compiles all");
  }
  return {};
}

// All folders of /usr that its Pythons search.
Result<PythonModules> modules_of_usr(int usr) {
  std::vector<std::string> folders = {kPythonPackages};
  Fd lib(::openat(usr, "lib", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  TRY(const auto names, read_names(FolderReader::of(std::move(lib), "/usr/lib")));
  for (const std::string& name : names) {
    if (!name.starts_with("python3.")) continue;
    for (const char* inner : {"", "/lib-dynload", "/dist-packages"}) folders.push_back("lib/" + name + inner);
  }
  PythonModules all;
  for (const std::string& folder : folders) {
    TRY(const PythonModules modules, modules_in(usr, folder));
    for (const auto& [name, is_shared] : modules) {
      const auto [at, is_new] = all.emplace(name, is_shared);
      if (!is_new) at->second = at->second && is_shared;
    }
  }
  return all;
}

}  // namespace

std::string_view python_module_of(std::string_view path) {
  const auto position = python_place_of(path);
  if (!position || position->rest.empty()) return {};
  const std::string_view first = position->rest.substr(0, position->rest.find('/'));
  const bool is_folder = first.size() < position->rest.size();
  if (first == kBytecodeFolder) return {};
  if (is_folder) return first.find('.') == first.npos && first.find('-') == first.npos ? first : std::string_view();
  return is_extension_or_source(first) ? stem_of(first) : std::string_view();
}

std::string_view node_module_of(std::string_view path) {
  const std::string_view start = kNodeModules;
  if (!path.starts_with(start) || path.size() <= start.size() + 1 || path[start.size()] != '/') return {};
  const std::string_view rest = path.substr(start.size() + 1);
  size_t end = rest.find('/');
  if (rest.starts_with('.')) return {};
  if (rest.starts_with('@')) {
    if (end == rest.npos) return {};
    end = rest.find('/', end + 1);
  }
  return rest.substr(0, end);
}

Result<> check_entry(const LayerEntry& entry) {
  CHECKED(check_name(entry));
  CHECKED(check_mode(entry));
  CHECKED(check_modules(entry));
  if (entry.kind == EntryKind::link) CHECKED(check_target(entry));
  return {};
}

Result<> check_against_usr(const Manifest& manifest, int usr) {
  CHECKED(check_bytecode(manifest));
  TRY(const PythonModules modules, modules_of_usr(usr));
  static constexpr char kRemedy[] =
      "leave the package out: jails see the one of /usr; or remove the package from this machine first";
  for (const LayerEntry& entry : manifest.entries) {
    struct stat there {};
    const bool exists = ::fstatat(usr, entry.path.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0;
    if (!exists && errno != ENOENT && errno != ENOTDIR) return fail_path(errno, "look at", "/usr/" + entry.path);
    if (!exists && errno == ENOTDIR) return refuse_entry(entry.path, "/usr has a file in the place of its folder");
    if (exists && entry.kind != EntryKind::folder)
      return refuse_entry(entry.path, "/usr has a file of this name", kRemedy);
    if (exists && !S_ISDIR(there.st_mode))
      return refuse_entry(entry.path, "it is a folder, and /usr has a file of this name", kRemedy);
    const auto it = modules.find(python_module_of(entry.path));
    if (it == modules.end()) continue;
    const bool is_module_file =
        entry.kind != EntryKind::folder && python_place_of(entry.path)->rest.find('/') == std::string_view::npos;
    const bool is_initial = stem_of(std::string_view(entry.path).substr(entry.path.rfind('/') + 1)) == "__init__";
    const bool may_share = it->second && !is_initial && !is_module_file;
    if (!may_share) return refuse_entry(entry.path, fmt::format("/usr has the Python module {}", it->first), kRemedy);
  }
  return {};
}

}  // namespace layers
