// Policy: the rights and limits of one tenant. Immutable once loaded; an execution keeps the policy that it began with.
// Source: one JSON document (policies/policy.schema.json describes every key), merged with the documents that it
// extends. Headers that only pass a policy on include policy_fwd.h; those that need one part of it, that part's.
// Applied by supervisor/tools (admission, ceilings, skills, personal data), jail/ (isolation, filter) and
// supervisor/tenants (quota). Errors: all problems of a document, each naming key, value and range.
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "policies/answer_rules.h"
#include "policies/call_rules.h"
#include "policies/egress_rules.h"
#include "policies/host_capacity.h"
#include "policies/isolation.h"
#include "policies/learning_scope.h"
#include "policies/limits.h"
#include "policies/package_layer.h"
#include "policies/pii/rules.h"
#include "policies/policy_fwd.h"
#include "policies/pool_rules.h"
#include "policies/quota_rules.h"
#include "policies/staging_rules.h"
#include "policies/workspace_rules.h"
#include "supervisor/base/json/json_fwd.h"
#include "supervisor/base/result.h"

namespace policies {

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

// ToolRules: the tools that are listed and may be called. Each tool costs the agent's context its definition.
struct ToolRules {
  bool every = true;
  std::vector<std::string> names;  // if not `every`: only these; names of unknown tools have no effect

  bool offers(std::string_view tool) const;
  bool operator==(const ToolRules&) const = default;
};

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
  ReceiptDelivery receipt = ReceiptDelivery::resource;
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
bool are_offered_alike(const Policy& a, const Policy& b);

using Problems = std::vector<Error>;

// Reads a complete document, with extensions already merged. Problems are invalid: "limits.maximum.cpus: ...".
tl::expected<Policy, Problems> parse_policy(std::string name, std::string file, const Json& document,
                                            const HostCapacity& host);

}  // namespace policies
