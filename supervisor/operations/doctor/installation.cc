// Checks the installation: interpreters, the daemon's user, policies, and quotas of the file system.
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <filesystem>

#include "supervisor/base/fd.h"
#include "supervisor/base/project_quota.h"
#include "supervisor/operations/doctor/doctor.h"

namespace doctor {
namespace {

namespace fs = std::filesystem;

Finding look_at_usr() {
  for (const char* name : {"/bin", "/lib", "/sbin"}) {
    std::error_code error;
    if (!fs::is_symlink(name, error))
      return {"/usr", Health::bad, fmt::format("{} is not a link into /usr: jails show only /usr", name),
              "apt install usrmerge"};
  }
  return {"/usr", Health::good, "holds all programs and libraries", {}};
}

enum class Needed { no, yes };

Finding examine_interpreter(const char* language, std::initializer_list<const char*> programs, const char* package,
                            Needed needed) {
  for (const char* program : programs)
    if (::access(program, X_OK) == 0) return {language, Health::good, program, {}};
  return {language, needed == Needed::yes ? Health::bad : Health::note,
          fmt::format("there is no {}: executions in this language are refused", *programs.begin()),
          fmt::format("apt install {}", package)};
}

// Checks the library that removes types from TypeScript. Node.js 22.13 and later need no library; the installed version
// of Node.js is not checked here.
Finding look_at_typescript() {
  constexpr const char* kLibrary = "/usr/share/nodejs/typescript";
  if (::access(kLibrary, R_OK) == 0) return {"typescript", Health::good, kLibrary, {}};
  return {"typescript", Health::note,
          "there is no /usr/share/nodejs/typescript: only a Node.js of 22.13 or later runs TypeScript without it",
          "apt install node-typescript"};
}

}  // namespace

Findings examine_programs() {
  return {look_at_usr(), examine_interpreter("python", {"/usr/bin/python3"}, "python3", Needed::yes),
          examine_interpreter("javascript", {"/usr/bin/node", "/usr/local/bin/node"}, "nodejs", Needed::no),
          look_at_typescript(), examine_interpreter("shell", {"/bin/bash", "/bin/sh"}, "bash", Needed::no)};
}

Finding judge_user(User user, const std::string& name) {
  if (user == User::known) return {"user", Health::good, name, {}};
  return {"user", Health::note, fmt::format("there is no user {}: a daemon that root starts uses an unused id", name),
          "install the package, or: systemd-sysusers"};
}

Finding judge_policies(const Result<std::vector<std::string>>& names) {
  if (names) return {"policies", Health::good, fmt::format("{}", fmt::join(*names, ", ")), {}};
  const bool none = names.error().code == Code::not_found;
  return {
      "policies", Health::bad, names.error().what,
      none ? "install the package, or name a folder with --policies" : "correct the files; then: warder policy check"};
}

Finding judge_configuration(const ConfigurationFacts& facts) {
  const std::string subject = "configuration";
  const std::string reload = "correct it (warder config check names every mistake); then: systemctl reload warder";
  if (!facts.problems.empty()) {
    const std::string effect = !facts.executes  ? "executions are denied"
                               : facts.in_force ? "a reload would fail, and a restart would use the last good copy"
                                                : "the last good copy is in force";
    return {subject, facts.executes ? Health::note : Health::bad,
            fmt::format("{}: {}", effect, fmt::join(facts.problems, "; ")), reload};
  }
  if (!facts.executes) return {subject, Health::bad, "executions are denied until a reload", "systemctl reload warder"};
  if (!facts.in_force)
    return {subject, Health::note, "the files are good now, but the last good copy is in force",
            "systemctl reload warder"};
  if (!facts.shortfalls.empty())
    return {subject, Health::note, fmt::format("served without: {}", fmt::join(facts.shortfalls, "; ")),
            "correct it; then: systemctl reload warder, which tries again"};
  if (!facts.warnings.empty())
    return {subject, Health::note, fmt::format("{}", fmt::join(facts.warnings, "; ")),
            "what the warnings name is skipped; correct it, then: systemctl reload warder"};
  return {subject,
          Health::good,
          facts.files.empty() ? "no file; the defaults are in force" : fmt::format("{}", fmt::join(facts.files, ", ")),
          {}};
}

Finding examine_quotas(std::string folder) {
  std::error_code missing;
  while (folder.size() > 1 && !fs::exists(folder, missing)) folder = fs::path(folder).parent_path();
  const Fd directory(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return {"quotas", Health::note, folder + " cannot be opened", "call as root"};
  if (const auto enforced = project_quota_enforced(directory.get()); !enforced)
    return {
        "quotas", Health::bad,
        fmt::format("{}: {}; instead, warderd counts the files of tenants some times a second, and ends executions "
                    "that exceed a quota: until then, one tenant can take more of the disk than its quota",
                    folder, enforced.error().what),
        "put the state folder on a file system with project quotas. ext4: unmount it, tune2fs -O project,quota DEVICE, "
        "then mount it with the option prjquota; xfs: mount it with the option pquota (in /etc/fstab; for the root "
        "file "
        "system, rootflags=pquota on the kernel's command line)"};
  return {"quotas", Health::good, folder + " is on a file system with project quotas", {}};
}

}  // namespace doctor
