// Language: a programming language that jails run, with its interpreter, command line, environment and process limits.
// The environment is built from scratch; HOME is a private tmpfs, never the workspace.
// Used by: jail/sealed_plan.cc, jail/pool/pool.cc, jail/zygote.cc. No errors.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jail/advice.h"
#include "jail/plan_parts.h"
#include "policies/limits.h"

namespace jail {

enum class Language { python, javascript, typescript, shell };
constexpr Language kLanguages[] = {Language::python, Language::javascript, Language::typescript, Language::shell};

std::string_view language_name(Language language);
// Finds a language by its name or a common alias ("py", "js", "node", "ts", "bash", "sh"); empty when unknown.
std::optional<Language> find_language(std::string_view name);
// True if Node.js runs the language: JavaScript, and TypeScript after its types are removed.
constexpr bool runs_in_node(Language language) {
  return language == Language::javascript || language == Language::typescript;
}
// The program that must exist on the host, for example "/usr/bin/python3".
std::string_view interpreter_of(Language language);

std::vector<std::string> command_of(Language language, const policies::Limits& limits);
// Extra arguments for an interpreter that waits: libraries to load ahead of time. TypeScript's library takes more
// memory than the rest of its runner together, and is slow to load and to warm up.
std::vector<std::string> warming_of(Language language);
// Without a network, installers are set to give up at once.
std::vector<std::string> environment_of(const std::map<std::string, std::string>& from_policy, Network network);
// Makes a command and an environment that command_of() and environment_of() gave use the seed of text hashes
// (jail::Spec::hash_seed). Python reads its own variables then, so the policy's variables of Python are left out.
void set_hash_seed(uint32_t seed, std::vector<std::string>& command, std::vector<std::string>& environment);

// Limits of each process. With a cgroup they bound what the cgroup does not count; without a cgroup they replace it
// (`alone`).
enum class Enforcement { with_cgroup, alone };
std::vector<ResourceLimit> resource_limits_of(Language language, const policies::Limits& limits,
                                              Enforcement enforcement);

}  // namespace jail
