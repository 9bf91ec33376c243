// Policy: what one tenant may do and use. Immutable once loaded; an execution keeps the one it began with.
// Source: one JSON document (policies/policy.schema.json describes every key), with what it extends.
// Applied by supervisor/tools (admission, ceilings, skills, personal data), jail/ (isolation, filter) and
// supervisor/tenants (quota). Errors: all that is wrong with a document, each naming key, value and range.
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "policies/call_rules.h"
#include "policies/limits.h"
#include "policies/pii/rules.h"
#include "policies/seccomp.h"
#include "supervisor/base/json_fwd.h"
#include "supervisor/base/result.h"

namespace policies {

// A protection that a machine may lack. required: without it nothing runs. preferred: the receipt tells what stood in.
enum class Need { required, preferred };

struct Isolation {
  Need cgroups = Need::required;   // cgroup v2 leaf with memory, pids and cpu; else rlimits and watchdogs
  Need identity = Need::required;  // init and code under host ids of their own; else the daemon's own
  Need landlock = Need::required;  // else the mount namespace alone
  Need overlay = Need::required;   // own root file system instance; else read-only bind mounts
  Need idmap = Need::required;     // idmapped workspace; else files of the jail's own id
};

// What a tenant may keep between executions.
struct QuotaRules {
  uint64_t workspace_bytes = 0;        // of each workspace
  uint64_t workspace_files = 0;        // files, directories and links
  uint32_t executions_kept = 0;        // whose full output can still be read
  uint64_t executions_kept_bytes = 0;  // all of them together
};

// Jails that wait for this policy's executions, of each language that was asked for.
struct PoolRules {
  uint32_t min_idle = 0;             // from the tenant's first connection on
  uint32_t max_idle = 0;             // however many are asked for; of forks, which hold a fifth, eight times as many
  bool zygotes = false;              // a tenant's later jails may be forks of one interpreter of that tenant's
  std::vector<std::string> preload;  // Python modules that waiting interpreters have loaded, where installed
};

// What a tenant may keep to import later, besides the skills that everybody shares.
struct SkillRules {
  bool save = false;   // whether its programs and agents may save and delete skills
  uint64_t bytes = 0;  // of all skills and their older versions
  uint32_t count = 0;  // skills
};

// Stateful Python sessions: each holds a jail, and its memory, between calls.
struct SessionRules {
  uint32_t max = 0;              // of one tenant at a time; 0: none
  std::chrono::seconds idle{0};  // without a call; then one ends
};

// Workspaces beside the tenant's own that its requests name. How long one is kept that nobody uses.
struct WorkspaceRules {
  uint32_t max = 0;
  std::chrono::seconds idle{0};     // without use; then it is removed. 0: never
  std::chrono::seconds warning{0};  // from when that is announced until it is done, at least
};

// Tools that are listed and may be called; each costs the agent's context its definition.
struct ToolRules {
  bool every = true;
  std::vector<std::string> names;  // unless every: these; names of tools that there are none of mean nothing

  bool offers(std::string_view tool) const;
  bool operator==(const ToolRules&) const = default;
};

// What the client is told of a shell program that ends with status 1 and wrote nothing to stderr, as grep, diff and
// test say no: an answer like another, or an error of the tool (isError).
enum class ShellExit1 { answer, error };

// Whose searches teach search_tools which tool was meant: nobody's, each tenant's its own, or those of all tenants
// whose policy says shared, together.
enum class LearningScope { off, tenant, shared };

struct Policy {
  std::string name;  // the file's, without .json
  std::string file;
  std::string description;
  Ceilings limits;
  Isolation isolation;
  QuotaRules quota;
  std::vector<std::string> languages;           // "python", "javascript", "typescript", "shell"; at least one
  std::string seccomp;                          // the profile's name
  std::shared_ptr<const SeccompFilter> filter;  // that profile, compiled; set by Store
  PoolRules pool;
  SkillRules skills;
  PiiRules pii;
  ToolRules tools;
  CallRules calls;  // of upstream servers' tools
  LearningScope learning = LearningScope::tenant;
  ShellExit1 shell_exit_1 = ShellExit1::answer;
  uint32_t concurrent_executions = 0;  // of one tenant, running
  uint32_t queued_executions = 0;      // waiting for one of those; beyond: exhausted
  uint32_t connections = 0;
  uint32_t requests_in_flight = 0;                 // executions of one connection, running
  std::vector<std::string> workspaces;             // names that a request may choose; '*' stands for any characters
  std::map<std::string, std::string> environment;  // added to the jail's
  SessionRules sessions;
  WorkspaceRules named_workspaces;

  bool allows_language(std::string_view language) const;
  bool allows_workspace(std::string_view workspace) const;
};

// Whether agents see the same tools under both, with the same limits of execute_code.
bool are_offered_alike(const Policy& one, const Policy& other);

// What a document may refer to.
struct HostCapacity {
  double cpus = 1;  // "host" as a number of CPUs
  static HostCapacity here();
};

using Problems = std::vector<Error>;

// `child` over `base`: objects key by key, everything else replaced.
Json merged(const Json& base, const Json& child);
// Reads a complete document, extensions already merged. Problems are invalid: "limits.maximum.cpus: ...".
tl::expected<Policy, Problems> parse_policy(std::string name, std::string file, const Json& document,
                                            const HostCapacity& host);

// Whether `text` fits: '*' stands for any characters. Goes back to the last '*' only, so no pattern takes long.
bool matches_pattern(std::string_view pattern, std::string_view text);

// The names of policies, profiles and tenants: [a-z0-9_.-]{1,64}, not starting with a dot.
bool valid_name(std::string_view name);
// The names of workspaces, which may have capitals: [A-Za-z0-9_.-]{1,64}, not starting with a dot.
bool valid_workspace_name(std::string_view name);

}  // namespace policies
