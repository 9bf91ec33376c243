// Languages: which interpreter runs a language, how it is started, what its environment is.
// The environment is built from nothing; HOME is a private tmpfs, never the workspace.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jail/plan.h"
#include "policies/limits.h"

namespace jail {

enum class Language { python, javascript, typescript, shell };
constexpr Language kLanguages[] = {Language::python, Language::javascript, Language::typescript, Language::shell};

std::string_view language_name(Language language);
// By name or common alias ("py", "js", "node", "ts", "bash", "sh"); nothing when unknown.
std::optional<Language> find_language(std::string_view name);
// Whether Node.js runs it: JavaScript, and TypeScript, whose types are taken off there.
constexpr bool runs_in_node(Language language) {
  return language == Language::javascript || language == Language::typescript;
}
// The host's program that must exist, "/usr/bin/python3".
std::string_view interpreter_of(Language language);

std::vector<std::string> command_of(Language language, const policies::Limits& limits);
// Words behind the command of an interpreter that waits: what else it gets warm for. The library that reads types holds
// more than all the rest of its runner, and takes a while to load and to get fast.
std::vector<std::string> warming_of(Language language);
std::vector<std::string> environment_of(const std::map<std::string, std::string>& from_policy);

// Limits of each process. With cgroups they bound what cgroups do not count; without, they stand in (`alone`).
enum class Enforcement { with_cgroup, alone };
std::vector<ResourceLimit> resource_limits_of(Language language, const policies::Limits& limits,
                                              Enforcement enforcement);

}  // namespace jail
