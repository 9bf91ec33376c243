// Policy: the rights and limits of one tenant. Immutable once loaded; an execution keeps the policy that it began with.
// Source: one JSON document (policies/policy.schema.json describes every key), merged with the documents that it
// extends. Applied by supervisor/tools (admission, ceilings, skills, personal data), jail/ (isolation, filter) and
// supervisor/tenants (quota). Errors: all problems of a document, each naming key, value and range.
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "policies/call_rules.h"
#include "policies/egress_rules.h"
#include "policies/limits.h"
#include "policies/package_layer.h"
#include "policies/pii/rules.h"
#include "policies/seccomp.h"
#include "supervisor/base/json/json_fwd.h"
#include "supervisor/base/result.h"

namespace policies {

// Need: a protection that a machine may lack. required: without it no execution runs. preferred: an execution runs, and
// the receipt names the substitute.
enum class Need { required, preferred };

struct Isolation {
  Need cgroups = Need::required;   // cgroup v2 leaf with memory, pids and cpu; else rlimits and watchdogs
  Need identity = Need::required;  // init and code under separate host ids; else the daemon's id
  Need landlock = Need::required;  // else the mount namespace alone
  Need overlay = Need::required;   // each jail has its own root file system instance; else read-only bind mounts
  Need idmap = Need::required;     // idmapped workspace; else files have the id of the jail
};

// QuotaRules: limits for the data that a tenant keeps between executions.
struct QuotaRules {
  uint64_t workspace_bytes = 0;        // for each workspace
  uint64_t workspace_files = 0;        // files, directories and links
  uint32_t executions_kept = 0;        // executions with a full output that can be read later
  uint64_t executions_kept_bytes = 0;  // bytes of their outputs together
};

// PoolRules: finished jails that wait for this policy's executions, for each language in use.
struct PoolRules {
  uint32_t min_idle = 0;  // from the tenant's first connection on
  uint32_t max_idle = 0;  // upper bound for any demand; eight times as many forks, which hold a fifth of the memory
  bool zygotes = false;   // later jails of a tenant may be forks of that tenant's interpreter
  std::vector<std::string> preload;  // Python modules that waiting interpreters load, where installed
};

// SkillRules: limits for the skills that a tenant saves, besides the skills that all tenants share.
struct SkillRules {
  bool save = false;   // whether the tenant's programs and agents may save and delete skills
  uint64_t bytes = 0;  // of all saved skills and their older versions
  uint32_t count = 0;  // number of skills
};

// SessionRules: stateful sessions. Each session holds a jail, and its memory, between calls.
struct SessionRules {
  uint32_t max = 0;              // sessions of one tenant at a time; 0: sessions are off
  std::chrono::seconds idle{0};  // a session ends after this time without a call
};

// WorkspaceRules: named workspaces, which a tenant's requests name, and how long unused ones stay.
struct WorkspaceRules {
  uint32_t max = 0;
  std::chrono::seconds idle{0};     // a workspace is removed after this time without use; 0: never
  std::chrono::seconds warning{0};  // at least this long before the removal, it is announced
};

// StagingRules: how programs get the workspace. direct: they change its files. read_only: they read them. staged: what
// they change is a proposal, and is committed or discarded later.
enum class WorkspaceMode { direct, staged, read_only };
// Who commits a proposal. agent: the client. ask: a person. automatic: the daemon, if the program's outcome is ok;
// otherwise the proposal is discarded.
enum class CommitBy { agent, ask, automatic };
struct StagingRules {
  WorkspaceMode mode = WorkspaceMode::direct;
  bool choose = false;  // in the mode direct, a call may ask for a staged workspace
  CommitBy commit = CommitBy::agent;
  uint32_t undo = 0;             // commits that can be undone
  uint32_t open = 0;             // proposals that wait for a decision
  uint64_t proposals_bytes = 0;  // of all open proposals, and of the files that undo would bring back
  std::chrono::seconds keep{0};  // a proposal without a decision is discarded after this time

  bool offers() const { return mode == WorkspaceMode::staged || (mode == WorkspaceMode::direct && choose); }
};

// WorkflowRules: the workflows of jailed code, whose finished steps are saved, so that a later run skips them. Of one
// tenant or named workspace.
struct WorkflowRules {
  uint32_t max = 0;              // 0: none, as in a policy without `workflows`
  uint32_t steps = 0;            // of one workflow
  uint64_t bytes = 0;            // of the values of all steps
  std::chrono::seconds keep{0};  // a workflow is removed after this time without use
  uint32_t resume = 0;           // times that a background execution is started again after a restart; 0: never
};

// ClusterRules: where the files, sessions and executions of the tenants lie in a cluster of nodes.
struct ClusterRules {
  bool is_home_shared = false;     // "home": "cluster": one node of the cluster has them. False: each node has its own
  bool spreads_stateless = false;  // "spread": "stateless": executions that declare it run on any node, without files
};

// The workspace of stateless executions: a named one that stays empty, as no policy lets clients name it.
inline constexpr std::string_view kStatelessWorkspace = "stateless";

// ToolRules: the tools that are listed and may be called. Each tool costs the agent's context its definition.
struct ToolRules {
  bool every = true;
  std::vector<std::string> names;  // if not `every`: only these; names of unknown tools have no effect

  bool offers(std::string_view tool) const;
  bool operator==(const ToolRules&) const = default;
};

// ShellExit1: the answer for a shell program that ends with status 1 and has written no byte to stderr, which is how
// grep, diff and test say no. answer: a normal answer. error: an error of the tool (isError).
enum class ShellExit1 { answer, error };

// ReceiptPlace: where the receipt of an execution is. It is always a resource; answer: also in the _meta of each
// answer.
enum class ReceiptPlace { resource, answer };

// LearningScope: the searches that search_tools learns from. off: no searches. tenant: each tenant's searches, for that
// tenant only. shared: the searches of all tenants with a shared policy, together.
enum class LearningScope { off, tenant, shared };

struct Policy {
  std::string name;  // the name of the file, without .json
  std::string file;
  std::string hash;  // SHA-256 of the document, with the documents that it extends: 64 hexadecimal digits
  std::string description;
  Ceilings limits;
  Isolation isolation;
  QuotaRules quota;
  std::vector<std::string> languages;           // "python", "javascript", "typescript", "shell"; at least one
  std::string seccomp;                          // name of the seccomp profile
  std::shared_ptr<const SeccompFilter> filter;  // that profile, compiled; set by Store
  PoolRules pool;
  SkillRules skills;
  PiiRules pii;
  ToolRules tools;
  CallRules calls;  // of upstream servers' tools
  LearningScope learning = LearningScope::tenant;
  ShellExit1 shell_exit_1 = ShellExit1::answer;
  ReceiptPlace receipt = ReceiptPlace::resource;
  uint32_t concurrent_executions = 0;  // running executions of one tenant
  uint32_t queued_executions = 0;      // executions that wait for one of these; beyond: exhausted
  uint32_t fork = 0;                   // executions that one call may make of a list (`fork`); 0: none
  uint32_t connections = 0;
  uint32_t requests_in_flight = 0;                 // running executions of one connection
  std::vector<std::string> workspaces;             // names that a request may choose; '*' stands for any characters
  std::map<std::string, std::string> environment;  // added to the jail's environment
  SessionRules sessions;
  WorkflowRules workflows;
  EgressRules egress;  // without rules: no network
  ClusterRules cluster;
  WorkspaceRules named_workspaces;
  StagingRules staging;                  // the key "workspace"
  std::vector<std::string> layer_names;  // the key "layers": packages that its jails have besides those of /usr
  PackageLayers layers;                  // the same layers, found; set by Store

  bool allows_language(std::string_view language) const;
  bool allows_workspace(std::string_view workspace) const;
};

// Whether both policies offer agents the same tools, with the same limits of execute_code.
bool are_offered_alike(const Policy& one, const Policy& other);

// HostCapacity: numbers of the machine that a document may refer to.
struct HostCapacity {
  double cpus = 1;  // "host" as a number of CPUs
  static HostCapacity here();
};

using Problems = std::vector<Error>;

// `child` over `base`: objects are merged key by key, all other values are replaced.
Json merged(const Json& base, const Json& child);
// Reads a complete document, with extensions already merged. Problems are invalid: "limits.maximum.cpus: ...".
tl::expected<Policy, Problems> parse_policy(std::string name, std::string file, const Json& document,
                                            const HostCapacity& host);

// Whether `text` matches: '*' stands for any characters. Goes back to the last '*' only, so no pattern takes long.
bool matches_pattern(std::string_view pattern, std::string_view text);

// The names of policies, profiles and tenants: [a-z0-9_.-]{1,64}, not starting with a dot.
bool valid_name(std::string_view name);
// The names of workspaces, which may have capitals: [A-Za-z0-9_.-]{1,64}, not starting with a dot.
bool valid_workspace_name(std::string_view name);

}  // namespace policies
