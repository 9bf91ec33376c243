#include "supervisor/executions/runs/execute_request.h"

#include <fmt/format.h>

#include "policies/policy.h"
#include "policies/staging_rules.h"
#include "supervisor/executions/jail_spec.h"
#include "supervisor/executions/sent_code.h"
#include "supervisor/tenants/requester.h"

namespace runs {

namespace {

using policies::WorkspaceMode;

tl::unexpected<Error> not_this_workspace(const policies::Policy& policy, const std::string& request,
                                         const char* remedy) {
  return fail(Code::denied,
              fmt::format("workspace: policy '{}' does not give programs a {} workspace", policy.name, request), remedy,
              "workspace.mode");
}

Result<jail::WorkspaceAccess> workspace_access(const policies::Policy& policy, const Json& arguments) {
  const policies::StagingRules& rules = policy.staging;
  const std::string request = arguments.value("workspace", "");
  const bool wants_staged = request == "staged" || (request.empty() && rules.mode == WorkspaceMode::staged);
  if (request == "staged" && !rules.offers())
    return not_this_workspace(policy, request,
                              "leave `workspace` out, or ask the administrator to set workspace.choose");
  if (request == "direct" && rules.mode != WorkspaceMode::direct)
    return not_this_workspace(policy, request, "leave `workspace` out");
  if (!wants_staged)
    return rules.mode == WorkspaceMode::read_only ? jail::WorkspaceAccess::read_only : jail::WorkspaceAccess::direct;
  return jail::WorkspaceAccess::staged;
}

}  // namespace

Result<ExecuteRequest> read_execute_request(tenants::Tenant& tenant, const policies::Policy& policy, Json& arguments) {
  auto language = jail::find_language(arguments.value("language", "python"));
  if (!language)
    return fail(Code::invalid, "language: not python, javascript, typescript or shell", "name one of these",
                "languages");
  if (!policy.allows_language(jail::language_name(*language)))
    return fail(Code::denied, fmt::format("policy '{}' does not allow {}", policy.name, jail::language_name(*language)),
                "use an allowed language, or ask the administrator to add it to `languages`", "languages");
  TRY(executions::SentCode sent,
      executions::read_sent_code(std::move(arguments["code"].get_ref<std::string&>()), *language));
  // A session stays with its language.
  if (sent.is_typescript && !arguments.contains("session") &&
      policy.allows_language(jail::language_name(jail::Language::typescript)))
    language = jail::Language::typescript;
  policies::LimitRequest limit_request;
  if (arguments.contains("timeout_seconds"))
    limit_request.wall =
        std::chrono::milliseconds(static_cast<int64_t>(arguments["timeout_seconds"].get<double>() * 1000));
  if (arguments.contains("memory_mb"))
    limit_request.memory_bytes = static_cast<uint64_t>(arguments["memory_mb"].get<double>() * (1 << 20));
  ExecuteRequest request;
  policies::Limits limits;
  std::tie(limits, request.clamped) = policies::resolve(policy.limits, limit_request);
  jail::Request& jail = request.jail;
  jail.code = std::move(sent.code);
  request.notes = std::move(sent.notes);
  jail.spec = executions::make_spec(policy, *language, limits);
  jail.tenant = tenant.name();
  jail.pool = policy.pool;
  jail.seccomp_profile = policy.seccomp;
  jail.workspace.directory = tenant.workspace().directory();
  TRY(jail.workspace.access, workspace_access(policy, arguments));
  if (tenant.held_by_kernel()) jail.quota = jail::Request::Quota::project;
  return request;
}

void set_hash_seed(ExecuteRequest& request, const Json& arguments, const workflows::WorkflowDisk& disk) {
  jail::Request& jail = request.jail;
  const bool has_seed = jail.spec.language == jail::Language::python && !arguments.contains("session");
  if (has_seed && jail.code.find("workflow") != jail.code.npos) jail.spec.hash_seed = hash_seed(disk, jail.tenant);
}

Result<> check_session_arguments(const Json& arguments) {
  if (!arguments.contains("session")) {
    if (!arguments.value("reset_session", false)) return {};
    return fail(Code::invalid, "reset_session: no session is named", "name the session in `session`", "session");
  }
  CHECKED(tenants::check_session_id(arguments["session"].get<std::string>()));
  if (jail::find_language(arguments.value("language", "python")) != jail::Language::shell) return {};
  return fail(Code::invalid, "session: shell keeps no variables between calls",
              "leave `session` out, and keep data in workspace files", "session");
}

Result<> check_stateless_arguments(const Json& arguments) {
  for (const char* name : {"session", "background", "workspace"}) {
    const auto it = arguments.find(name);
    if (it == arguments.end() || *it == false) continue;
    return fail(Code::invalid, fmt::format("{}: a stateless execution has none, and keeps nothing", name),
                fmt::format("leave `{}` out, or leave out _meta {}: the program then runs at its workspace's home",
                            name, tenants::kPlaceKey),
                name);
  }
  return {};
}

Result<> check_fork_arguments(const policies::Policy& policy, const Json& arguments) {
  constexpr char kRule[] = "admission.fork";
  const size_t items = arguments["fork"].size();
  if (policy.fork == 0)
    return fail(Code::denied, fmt::format("fork: policy '{}' allows no branches", policy.name),
                "call once for each item, or ask the administrator to raise admission.fork", kRule);
  if (items == 0)
    return fail(Code::invalid, "fork: the list has no item", "give one item for each branch, or leave `fork` out",
                kRule);
  if (items > policy.fork)
    return fail(Code::invalid, fmt::format("fork: {} items are more than {}, the most of one call", items, policy.fork),
                fmt::format("give at most {} items in one call; each may be a list of its own", policy.fork), kRule);
  if (const auto it = arguments.find("context_vars"); it != arguments.end() && it->contains("item"))
    return fail(Code::invalid, "context_vars: with `fork`, `item` is the branch's own variable",
                "use another name in context_vars", "fork");
  CHECKED(check_session_arguments(arguments));
  if (!arguments.contains("session")) return {};
  if (arguments.value("reset_session", false))
    return fail(Code::invalid, "reset_session: the branches get values of the session, and a new one has none",
                "leave reset_session out", "session");
  if (jail::find_language(arguments.value("language", "python")) != jail::Language::python)
    return fail(Code::invalid, "fork: only a Python session can share its values with branches",
                "leave `session` out, and give the values as context_vars, items or files in the workspace", "fork");
  return {};
}

bool only_ends_session(const jail::Request& request, const Json& arguments) {
  return request.code.empty() && arguments.value("reset_session", false);
}

}  // namespace runs
