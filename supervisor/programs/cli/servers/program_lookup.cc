#include "supervisor/programs/cli/servers/program_lookup.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "supervisor/base/log.h"

namespace admin {
namespace {

namespace fs = std::filesystem;

constexpr char kJailsPath[] = "/usr/local/bin:/usr/bin:/bin:/warder/bin";  // as jail/language.cc sets it
constexpr char kSystemsPath[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/bin";  // systemd's, for a service
// Names in the last folder of the jail's PATH (jail/template.cc). All but the first say that they are not available.
constexpr const char* kJailsOwn[] = {"python", "pip", "pip3", "npm", "npx"};
constexpr char kInstallHint[] = "copy it to where jails see it: warder servers install FOLDER, FILE.tgz or npm:PACKAGE";

enum class ProgramCheck { runs, missing, no_program, unknown };

ProgramCheck look_at(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) < 0)
    return errno == ENOENT || errno == ENOTDIR ? ProgramCheck::missing : ProgramCheck::unknown;
  return S_ISREG(status.st_mode) && (status.st_mode & 0111) != 0 ? ProgramCheck::runs : ProgramCheck::no_program;
}

// The first program of this name in the folders of a PATH; else unknown, if one folder cannot be looked at.
ProgramCheck look_in(const std::string& search, const std::string& name) {
  ProgramCheck match = ProgramCheck::missing;
  for (size_t begin = 0; begin <= search.size();) {
    const size_t end = std::min(search.find(':', begin), search.size());
    const std::string folder = search.substr(begin, end - begin);
    begin = end + 1;
    const ProgramCheck item = folder.starts_with("/") ? look_at(folder + "/" + name) : ProgramCheck::unknown;
    if (item == ProgramCheck::runs) return item;
    if (item == ProgramCheck::unknown) match = item;
  }
  return match;
}

bool is_below(const std::string& path, std::initializer_list<const char*> folders) {
  for (const std::string folder : folders)
    if (path.starts_with(folder + "/")) return true;
  return false;
}

Result<> missing(const std::string& program, const std::string& hint) {
  return fail(Code::invalid, fmt::format("the program {} does not exist", printable(program, 200)), hint);
}

Result<> judge(ProgramCheck check, const std::string& program, const std::string& hint) {
  if (check == ProgramCheck::missing) return missing(program, hint);
  if (check == ProgramCheck::no_program)
    return fail(Code::invalid, fmt::format("{} is not a file that can be executed", printable(program, 200)),
                "name the program: /usr/bin/python3 FILE for a script; or chmod 755 the file");
  return {};
}

// A jail shows /usr of this machine and the links into it; the rest of its tree is its own.
Result<> expect_in_jail(const upstream::ServerConfig& server) {
  const std::string& program = server.command.front();
  if (program.find('/') == program.npos) {
    const auto own = server.environment.find("PATH");
    const std::string search = own == server.environment.end() ? kJailsPath : own->second;
    if (std::find(std::begin(kJailsOwn), std::end(kJailsOwn), program) != std::end(kJailsOwn)) return {};
    if (look_in(search, program) != ProgramCheck::missing) return {};
    return fail(Code::invalid,
                fmt::format("the program {} is in no folder of the jail's PATH, {}", printable(program, 200),
                            printable(search, 400)),
                std::string("install it below /usr, or ") + kInstallHint);
  }
  const std::string path = fs::path(program).lexically_normal();
  if (!path.starts_with("/") || is_below(path, {"/workspace", "/warder", "/skills"})) return {};
  std::error_code error;
  const std::string real = fs::canonical(path, error);
  const bool is_shown = is_below(path, {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}) &&
                        (error || is_below(real, {"/usr"}));
  const ProgramCheck check = look_at(path);
  if (check == ProgramCheck::missing) return missing(program, kInstallHint);
  if (!is_shown)
    return fail(Code::invalid,
                fmt::format("a jail does not show the program {}: it shows only /usr of this machine",
                            printable(error ? program : real, 200)),
                std::string(kInstallHint) + "; or start it outside of jails, as the daemon's user: --no-jail");
  return judge(check, program, kInstallHint);
}

// Outside, posix_spawnp(3) looks in the daemon's PATH, which this process does not know.
Result<> expect_outside(const upstream::ServerConfig& server) {
  const std::string& program = server.command.front();
  if (program.find('/') != program.npos) {
    const fs::path folder = server.folder.empty() ? "/" : server.folder;
    return judge(look_at(folder / program), program, "give the absolute path of a program of this machine");
  }
  const char* own = std::getenv("PATH");
  const std::string search = std::string(kSystemsPath) + (own && *own ? std::string(":") + own : "");
  if (look_in(search, program) != ProgramCheck::missing) return {};
  return fail(Code::invalid, fmt::format("the program {} is in no folder of PATH", printable(program, 200)),
              "install it, or give its absolute path");
}

}  // namespace

Result<> expect_program(const upstream::ServerConfig& server) {
  if (server.remote()) return {};
  return server.location == upstream::ServerConfig::ServerHost::jail ? expect_in_jail(server) : expect_outside(server);
}

}  // namespace admin
