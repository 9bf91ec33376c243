#include "jail/language.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>

namespace jail {

std::string_view language_name(Language language) {
  switch (language) {
    case Language::python:
      return "python";
    case Language::javascript:
      return "javascript";
    case Language::typescript:
      return "typescript";
    case Language::shell:
      return "shell";
  }
  return "";
}

std::optional<Language> find_language(std::string_view name) {
  if (name == "python" || name == "py" || name == "python3") return Language::python;
  if (name == "javascript" || name == "js" || name == "node") return Language::javascript;
  if (name == "typescript" || name == "ts") return Language::typescript;
  if (name == "shell" || name == "bash" || name == "sh") return Language::shell;
  return std::nullopt;
}

std::string_view interpreter_of(Language language) {
  switch (language) {
    case Language::python:
      return "/usr/bin/python3";
    case Language::javascript:
    case Language::typescript:
      return "/usr/bin/node";
    case Language::shell:
      return "/usr/bin/sh";
  }
  return "";
}

std::vector<std::string> command_of(Language language, const policies::Limits& limits) {
  switch (language) {
    case Language::python:
      // -B: no bytecode files, because the workspace is the agent's. (-I ignores PYTHONDONTWRITEBYTECODE.)
      // -S: the work of `site` is done later, if the code needs it, see guest/python/warder/_site.py.
      return {"/usr/bin/python3", "-I", "-S", "-B", "-u", "/warder/python/runner.py"};
    case Language::javascript:
    case Language::typescript:
      // V8 would size its heap by the machine's memory, not by the jail's limit.
      // Before Node 20.12, import() in a script needs the flag; Debian 12 has Node 18.
      return {"/usr/bin/node", "--no-warnings", "--experimental-vm-modules",
              fmt::format("--max-old-space-size={}", std::max<uint64_t>(limits.memory_bytes >> 20, 16)),
              "/warder/javascript/runner.js"};
    case Language::shell:
      return {"/warder/shell/warder-shell-runner"};
  }
  return {};
}

std::vector<std::string> warming_of(Language language) {
  if (language == Language::typescript) return {"typescript"};
  return {};
}

using Setting = std::pair<const char*, const char*>;
// Settings of installers: requests that no program needs are not made.
constexpr Setting kInstallerSettings[] = {{"PIP_DISABLE_PIP_VERSION_CHECK", "1"},
                                          {"NPM_CONFIG_AUDIT", "false"},
                                          {"NPM_CONFIG_FUND", "false"},
                                          {"NPM_CONFIG_UPDATE_NOTIFIER", "false"}};
// Installers give up at once. Without a network each installer retries: pip for 10 s, npm for 30 s.
constexpr Setting kOfflineSettings[] = {{"PIP_NO_INDEX", "1"},
                                        {"UV_OFFLINE", "1"},
                                        {"NPM_CONFIG_OFFLINE", "true"},
                                        {"CARGO_NET_OFFLINE", "true"},
                                        {"GOPROXY", "off"}};
// With a proxy, npm tries a refused host again after 1 and 2 seconds, not after 10 and 60.
constexpr Setting kProxySettings[] = {{"NPM_CONFIG_FETCH_RETRY_MINTIMEOUT", "1000"},
                                      {"NPM_CONFIG_FETCH_RETRY_MAXTIMEOUT", "2000"}};

std::vector<std::string> environment_of(const std::map<std::string, std::string>& from_policy, Network network) {
  std::map<std::string, std::string> all = {{"PATH", "/usr/local/bin:/usr/bin:/bin:/warder/bin"},
                                            {"HOME", "/home/agent"},
                                            {"USER", "agent"},
                                            {"LOGNAME", "agent"},
                                            {"LANG", "C.UTF-8"},
                                            {"TMPDIR", "/tmp"},
                                            {"SHELL", "/bin/sh"},
                                            {"PYTHONDONTWRITEBYTECODE", "1"},
                                            {"MPLBACKEND", "Agg"},
                                            {"MPLCONFIGDIR", "/tmp"},
                                            {"WARDER_WORKSPACE", "/workspace"}};
  for (const auto& [name, value] : kInstallerSettings) all[name] = value;
  if (network == Network::none) {
    for (const auto& [name, value] : kOfflineSettings) all[name] = value;
  } else {
    for (const auto& [name, value] : kProxySettings) all[name] = value;
  }
  for (const auto& [name, value] : from_policy) all[name] = value;
  std::vector<std::string> list;
  for (const auto& [name, value] : all) list.push_back(name + "=" + value);
  return list;
}

void set_hash_seed(uint32_t seed, std::vector<std::string>& command, std::vector<std::string>& environment) {
  const auto isolated = std::find(command.begin(), command.end(), "-I");
  if (isolated == command.end()) return;
  *isolated = "-P";
  command.insert(isolated + 1, "-s");
  std::erase_if(environment, [](const std::string& variable) {
    return variable.starts_with("PYTHON") && !variable.starts_with("PYTHONDONTWRITEBYTECODE=");
  });
  environment.push_back(fmt::format("PYTHONHASHSEED={}", seed));
}

std::vector<ResourceLimit> resource_limits_of(Language language, const policies::Limits& limits,
                                              Enforcement enforcement) {
  auto both = [](int resource, uint64_t value) {
    return ResourceLimit{static_cast<uint32_t>(resource), 0, value, value};
  };
  std::vector<ResourceLimit> list = {
      // 1, not 0: a limit of 0 does not stop a core_pattern with a pipe (core(5); measured on 6.1).
      both(RLIMIT_CORE, 1),
      both(RLIMIT_NOFILE, limits.open_files),
      both(RLIMIT_FSIZE, limits.file_bytes),
      both(RLIMIT_MEMLOCK, 64 * 1024),
      both(RLIMIT_MSGQUEUE, 0),
      both(RLIMIT_NICE, 0),
      both(RLIMIT_RTPRIO, 0),
      both(RLIMIT_SIGPENDING, 1024),
      // The kernel counts processes per user and user namespace since Linux 5.14. Every jail has its own, so this
      // counts one jail. With a cgroup the limit is one higher, so that pids.max refuses first: only pids.max counts
      // refusals, which the outcome needs.
      both(RLIMIT_NPROC, limits.tasks + (enforcement == Enforcement::alone ? 0 : 1)),
      ResourceLimit{RLIMIT_STACK, 0, 8 << 20, 64 << 20},
  };
  if (limits.cpu.count() > 0) {
    auto seconds = static_cast<uint64_t>((limits.cpu.count() + 999) / 1000);
    list.push_back(ResourceLimit{RLIMIT_CPU, 0, seconds, seconds + 1});
  }
  // V8 reserves far more memory than it uses. For Node, only the memory watch stands in.
  if (enforcement == Enforcement::alone && !runs_in_node(language))
    list.push_back(both(RLIMIT_DATA, limits.memory_bytes));
  return list;
}

}  // namespace jail
