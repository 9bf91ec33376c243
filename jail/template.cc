#include "jail/template.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "jail/host_files.h"
#include "jail/machine_files.h"
#include "jail/template_file.h"
#include "supervisor/base/folder.h"

namespace jail {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDirectories[] = {"dev",        "dev/pts", "dev/shm", "etc",    "etc/alternatives", "home",
                                        "home/agent", "mnt",     "proc",    "run",    "servers",          "skills",
                                        "tmp",        "usr",     "var",     "warder", "workspace"};
constexpr const char* kShadow = "etc/shadow";  // empty, and as elsewhere no program may read it
constexpr const char* kDevices[] = {"null", "zero", "full", "random", "urandom", "tty"};

struct TextFile {
  const char* path;
  const char* text;
};
constexpr TextFile kFiles[] = {
    {"etc/passwd",
     "root:x:0:0:root:/root:/usr/sbin/nologin\nagent:x:1000:1000:agent:/home/agent:/bin/sh\n"
     "nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n"},
    {"etc/group", "root:x:0:\nagent:x:1000:\nnogroup:x:65534:\n"},
    {"etc/hosts", "127.0.0.1 localhost jail\n::1 localhost\n"},
    {"etc/hostname", "jail\n"},
    {"etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"},
    {"etc/resolv.conf", ""},
    {kShadow, ""},
};
struct Link {
  const char* path;
  const char* target;
};
constexpr Link kLinks[] = {
    {"dev/fd", "/proc/self/fd"},
    {"dev/stdin", "/proc/self/fd/0"},
    {"dev/stdout", "/proc/self/fd/1"},
    {"dev/stderr", "/proc/self/fd/2"},
    {"dev/ptmx", "pts/ptmx"},
    {"var/tmp", "/tmp"},
    {"etc/os-release", "../usr/lib/os-release"},
    {"etc/mtab", "/proc/self/mounts"},
    {"node_modules", "/usr/share/warder/node_modules"},  // of package layers; node searches it for code in /workspace
};
// Names under which agents look for programs; the directory is last in PATH, so that the host's programs come first.
constexpr Link kPrograms[] = {{"python", "/usr/bin/python3"}, {"pip3", "pip"}, {"npm", "pip"}, {"npx", "pip"}};
constexpr TextFile kNoInstaller{"warder/bin/pip",
                                "#!/bin/sh\nwhy=\"this jail has no network\"\n"
                                "[ -z \"$HTTPS_PROXY\" ] || why=\"install it on the host, or use another program\"\n"
                                "echo \"${0##*/}: ${0##*/} is not available, and packages cannot be installed: $why\" "
                                ">&2\nexit 1\n"};
// Files that init and Python's runner read first: if one is missing, every execution of a language would fail.
constexpr const char* kGuestFiles[] = {"python/runner.py",     "python/runner.bundle",
                                       "python/zygote.py",     "python/warder/__init__.py",
                                       "javascript/runner.js", "shell/warder-shell-runner"};

// /bin, /lib, /lib64, /sbin ... are links into /usr on every supported system.
Result<> copy_usr_links(const fs::path& root) {
  for (const char* name : {"bin", "sbin", "lib", "lib32", "lib64", "libx32"}) {
    fs::path source = fs::path("/") / name;
    if (!fs::exists(fs::symlink_status(source))) continue;
    if (!fs::is_symlink(source))
      return fail(Code::unavailable, fmt::format("/{} is not a link into /usr: this system is not merged-usr", name),
                  "install the usrmerge package");
    fs::copy_symlink(source, root / name);
  }
  return {};
}

Result<> write_tree(const fs::path& directory, const std::string& guest, const std::string& skills) {
  fs::path root = directory / "root";
  for (const char* name : {"root", "empty", "mount", "servers", "usr", "layers"})
    fs::create_directories(directory / name);
  for (const char* name : kDirectories) fs::create_directories(root / name);
  for (const char* name : kDevices) write_template_file(root / "dev" / name, "");
  for (const auto& file : kFiles) write_template_file(root / file.path, file.text);
  for (const auto& link : kLinks) fs::create_symlink(link.target, root / link.path);
  copy_host_files("/etc", root / "etc");
  if (may_be_folder("/etc/alternatives")) {
    TRY(const auto names, read_names(FolderReader::open("/etc/alternatives")));
    for (const fs::path name : names) {
      if (name.extension() == ".gz") continue;  // manual pages: three of four links
      if (fs::is_symlink("/etc/alternatives" / name))
        fs::copy_symlink("/etc/alternatives" / name, root / "etc/alternatives" / name);
    }
  }
  write_machine_files(root);
  CHECKED(copy_usr_links(root));
  for (const char* name : kGuestFiles) {
    std::string file = guest + "/" + name;
    if (!fs::is_regular_file(file))
      return fail(Code::unavailable, fmt::format("the guest programs are not complete: file {} is missing", file),
                  "build the target `guest`, or install Warder again");
  }
  fs::copy(guest, root / "warder", fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  fs::create_directories(root / "warder/bin");
  write_template_file(root / kNoInstaller.path, kNoInstaller.text);
  fs::permissions(root / kNoInstaller.path, fs::perms(0755));
  for (const auto& link : kPrograms) fs::create_symlink(link.target, root / "warder/bin" / link.path);
  // The skills folder may itself be a link, as in a build tree.
  if (!skills.empty()) fs::copy(fs::canonical(skills), root / "skills", fs::copy_options::recursive);
  return {};
}

// Sets modes regardless of the umask: directories 0755, files 0644 or 0755, so that a jail's ids can read them.
void make_readable(const fs::path& directory) {
  fs::permissions(directory, fs::perms(0755));
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (entry.is_symlink()) continue;
    bool runs = entry.is_directory() || (entry.status().permissions() & fs::perms::owner_exec) != fs::perms::none;
    fs::permissions(entry.path(), fs::perms(runs ? 0755 : 0644));
  }
}

}  // namespace

Result<Fd> make_template(const std::string& directory, const std::string& guest, const std::string& skills) {
  try {
    fs::remove_all(directory);
    fs::create_directories(directory);
    CHECKED(write_tree(directory, guest, skills));
    make_readable(directory);
    fs::permissions(fs::path(directory) / "root" / kShadow, fs::perms::none);
  } catch (const std::system_error& e) {  // of std::filesystem, and of a stream that cannot be read
    return fail(Code::internal, fmt::format("write the jail template: {}", e.what()));
  }
  Fd fd(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return fail_errno(errno, fmt::format("open '{}'", directory));
  return fd;
}

Result<Fd> add_init(const std::string& directory, const std::string& program) {
  std::error_code error;
  std::string copy = directory + "/warder-jail-init";
  fs::copy_file(program, copy, fs::copy_options::overwrite_existing, error);
  if (!error) fs::permissions(copy, fs::perms(0755), error);
  if (error) return fail(Code::unavailable, fmt::format("copy {} to {}: {}", program, copy, error.message()));
  Fd fd(::open(copy.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return fail_errno(errno, fmt::format("open '{}'", copy), Code::unavailable);
  return fd;
}

}  // namespace jail
