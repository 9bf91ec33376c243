#include "policies/policy.h"

#include <fmt/format.h>

#include <algorithm>

#include "policies/checked.h"
#include "policies/names.h"
#include "supervisor/base/ascii.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/log.h"
#include "supervisor/base/tool_name.h"

namespace policies {

namespace {

constexpr uint32_t kForkOfOlderPolicies = 100;  // the key is newer than the others of `admission`
constexpr int64_t kDayMs = 24 * 3600 * 1000;
constexpr int64_t kKiB = 1 << 10, kMiB = 1 << 20, kGiB = 1 << 30, kTiB = kGiB << 10;
const std::vector<std::string> kLanguages = {"python", "javascript", "typescript", "shell"};

double read_cpus(Checked& in, const HostCapacity& host) {
  const Json* value = in.find("cpus");
  if (!value || !value->is_string()) return in.number("cpus", kMinCpus, 1024);
  if (*value != "host") in.wrong("cpus", "neither a number nor \"host\"");
  return host.cpus;
}

// Reads the limits that an agent may ask for; they are in both "standard" and "maximum".
void read_requestable_limits(Checked& in, Limits& limits, const HostCapacity& host) {
  limits.wall = std::chrono::milliseconds(in.integer("wall_ms", 1, kDayMs));
  limits.cpu = std::chrono::milliseconds(in.integer("cpu_ms", 0, kDayMs));
  limits.memory_bytes = static_cast<uint64_t>(in.integer("memory_bytes", kMinMemoryBytes, 16 * kTiB));
  limits.tasks = static_cast<uint32_t>(in.integer("tasks", kMinTasks, 65536));
  limits.cpus = read_cpus(in, host);
  limits.output_bytes = static_cast<uint64_t>(in.integer("output_bytes", kMinOutputBytes, 16 * kMiB));
}

void read_fixed(Checked& in, Limits& limits) {
  limits.saved_output_bytes = static_cast<uint64_t>(in.integer("output_kept_bytes", 4 * kKiB, 16 * kGiB));
  limits.output_total_bytes = static_cast<uint64_t>(in.integer("output_total_bytes", 4 * kKiB, kTiB));
  limits.result_bytes = static_cast<uint64_t>(in.integer("result_bytes", kKiB, 64 * kMiB));
  limits.json_bytes_per_second = static_cast<uint64_t>(in.integer("json_bytes_per_second", kMiB, 16 * kGiB));
  limits.file_bytes = static_cast<uint64_t>(in.integer("file_bytes", 4 * kKiB, kTiB));
  limits.open_files = static_cast<uint32_t>(in.integer("open_files", 32, 1 << 20));
  limits.tmp_bytes = static_cast<uint64_t>(in.integer("tmp_bytes", 64 * kKiB, 64 * kGiB));
  limits.tmp_files = static_cast<uint32_t>(in.integer("tmp_files", 16, 10'000'000));
}

void check_order(Checked& in, const Ceilings& limits) {
  auto below = [&](const char* key, auto standard, auto maximum) {
    if (standard <= maximum) return;
    in.wrong_at(in.path_of("standard") + "." + key,
                fmt::format("{} is above {}.{}, which is {}", standard, in.path_of("maximum"), key, maximum));
  };
  const Limits &s = limits.standard, &m = limits.maximum;
  below("wall_ms", s.wall.count(), m.wall.count());
  if (m.cpu.count() != 0) {
    if (s.cpu.count() == 0)
      in.wrong_at(in.path_of("standard") + ".cpu_ms",
                  fmt::format("0 means none, but {}.cpu_ms is {}", in.path_of("maximum"), m.cpu.count()));
    below("cpu_ms", s.cpu.count(), m.cpu.count());
  }
  below("memory_bytes", s.memory_bytes, m.memory_bytes);
  below("tasks", s.tasks, m.tasks);
  below("cpus", s.cpus, m.cpus);
  below("output_bytes", s.output_bytes, m.output_bytes);
  if (m.output_bytes > m.saved_output_bytes)
    in.wrong_at(in.path_of("maximum") + ".output_bytes",
                fmt::format("{} is above {}.output_kept_bytes, which is {}", m.output_bytes, in.path_of("standard"),
                            m.saved_output_bytes));
  if (s.saved_output_bytes > s.output_total_bytes)
    in.wrong_at(in.path_of("standard") + ".output_kept_bytes",
                fmt::format("{} is above {}.output_total_bytes, which is {}", s.saved_output_bytes,
                            in.path_of("standard"), s.output_total_bytes));
}

Ceilings read_limits(const Json& object, const HostCapacity& host, Problems& problems) {
  Ceilings limits;
  Checked in(object, "limits", problems);
  if (const Json* standard = in.object("standard")) {
    Checked fields(*standard, "limits.standard", problems);
    read_requestable_limits(fields, limits.standard, host);
    read_fixed(fields, limits.standard);
    fields.done();
  }
  limits.maximum = limits.standard;
  if (const Json* maximum = in.object("maximum")) {
    Checked fields(*maximum, "limits.maximum", problems);
    read_requestable_limits(fields, limits.maximum, host);
    fields.done();
  }
  in.done();
  if (in.good()) check_order(in, limits);
  return limits;
}

Isolation read_isolation(const Json& object, Problems& problems) {
  Checked in(object, "isolation", problems);
  auto need = [&](const char* key) {
    return in.one_of(key, {"required", "preferred"}) == "preferred" ? Need::preferred : Need::required;
  };
  Isolation isolation{need("cgroups"), need("identity"), need("landlock"), need("overlay"), need("idmap")};
  in.done();
  return isolation;
}

QuotaRules read_quota(const Json& object, Problems& problems) {
  Checked in(object, "quota", problems);
  QuotaRules quota;
  quota.workspace_bytes = static_cast<uint64_t>(in.integer("workspace_bytes", kMiB, 1024 * kTiB));
  quota.workspace_files = static_cast<uint64_t>(in.integer("workspace_files", 16, 1'000'000'000));
  quota.executions_kept = static_cast<uint32_t>(in.integer("executions_kept", 1, 1'000'000));
  quota.executions_kept_bytes = static_cast<uint64_t>(in.integer("executions_kept_bytes", kMiB, 1024 * kTiB));
  in.done();
  return quota;
}

void read_admission(const Json& object, Policy& policy, Problems& problems) {
  Checked in(object, "admission", problems);
  policy.concurrent_executions = static_cast<uint32_t>(in.integer("concurrent_executions", 1, 10'000));
  policy.queued_executions = static_cast<uint32_t>(in.integer("queued_executions", 0, 100'000));
  policy.fork = in.has("fork") ? static_cast<uint32_t>(in.integer("fork", 0, 1000)) : kForkOfOlderPolicies;
  policy.connections = static_cast<uint32_t>(in.integer("connections", 1, 100'000));
  policy.requests_in_flight = static_cast<uint32_t>(in.integer("requests_in_flight", 1, 10'000));
  in.done();
}

bool is_module_name(std::string_view name) {
  if (name.empty() || name.size() > 64 || is_digit(name[0]) || name[0] == '.') return false;
  return std::all_of(name.begin(), name.end(), [](char c) { return is_word(c) || c == '.'; });
}

void read_pool(const Json& object, Policy& policy, Problems& problems) {
  Checked in(object, "pool", problems);
  policy.pool.min_idle = static_cast<uint32_t>(in.integer("min_idle", 0, 1000));
  policy.pool.max_idle = static_cast<uint32_t>(in.integer("max_idle", 0, 1000));
  policy.pool.zygotes = in.boolean_or("zygotes", true);
  policy.pool.preload = in.strings_or("preload", {});
  if (policy.pool.min_idle > policy.pool.max_idle) in.wrong("min_idle", "more than `max_idle`");
  if (policy.pool.preload.size() > 32) in.wrong("preload", "more than 32 modules");
  for (const auto& name : policy.pool.preload)
    if (!is_module_name(name)) in.wrong("preload", fmt::format("'{}' is not the name of a Python module", name));
  in.done();
}

SkillRules read_skills(const Json& object, Problems& problems) {
  Checked in(object, "skills", problems);
  SkillRules rules;
  rules.save = in.boolean_or("save", true);
  rules.bytes = static_cast<uint64_t>(in.integer("bytes", 4 * kKiB, 16 * kGiB));
  rules.count = static_cast<uint32_t>(in.integer("count", 1, 10'000));
  in.done();
  return rules;
}

SessionRules read_sessions(const Json& object, Problems& problems) {
  Checked in(object, "sessions", problems);
  SessionRules rules;
  rules.max = static_cast<uint32_t>(in.integer("max", 0, 64));
  rules.idle = std::chrono::seconds(in.integer("idle_seconds", 1, 7 * 24 * 3600));
  in.done();
  return rules;
}

WorkspaceRules read_named_workspaces(const Json& object, Problems& problems) {
  Checked in(object, "named_workspaces", problems);
  WorkspaceRules rules;
  rules.max = static_cast<uint32_t>(in.integer("max", 0, 100'000));
  rules.idle = std::chrono::seconds(in.integer("idle_seconds", 0, 10ll * 366 * 24 * 3600));
  rules.warning = std::chrono::seconds(in.integer("warning_seconds", 0, 366 * 24 * 3600));
  in.done();
  return rules;
}

WorkflowRules read_workflows(const Json& object, Problems& problems) {
  Checked in(object, "workflows", problems);
  WorkflowRules rules;
  rules.max = static_cast<uint32_t>(in.integer("max", 0, 10'000));
  rules.steps = static_cast<uint32_t>(in.integer("steps", 1, 1'000'000));
  rules.bytes = static_cast<uint64_t>(in.integer("bytes", 4 * kKiB, 16 * kGiB));
  rules.keep = std::chrono::seconds(in.integer("keep_seconds", 60, 366 * 24 * 3600));
  if (in.has("resume")) rules.resume = static_cast<uint32_t>(in.integer("resume", 0, 1000));
  in.done();
  return rules;
}

ClusterRules read_cluster(const Json& object, Problems& problems) {
  Checked in(object, "cluster", problems);
  ClusterRules rules;
  rules.is_home_shared = in.one_of("home", {"local", "cluster"}) == "cluster";
  // On another node, an account without a shared policy may be another person.
  if (in.find("spread"))
    rules.spreads_stateless = in.one_of("spread", {"never", "stateless"}) == "stateless" && rules.is_home_shared;
  in.done();
  return rules;
}

StagingRules read_staging(const Json& object, Problems& problems) {
  Checked in(object, "workspace", problems);
  StagingRules rules;
  const std::string mode = in.one_of("mode", {"direct", "staged", "read_only"});
  if (mode != "direct") rules.mode = mode == "staged" ? WorkspaceMode::staged : WorkspaceMode::read_only;
  rules.choose = in.boolean_or("choose", true);
  const std::string commit = in.one_of("commit", {"agent", "ask", "auto"});
  if (commit != "agent") rules.commit = commit == "ask" ? CommitBy::ask : CommitBy::automatic;
  rules.undo = static_cast<uint32_t>(in.integer("undo", 0, 1000));
  rules.open = static_cast<uint32_t>(in.integer("open", 1, 10'000));
  rules.proposals_bytes = static_cast<uint64_t>(in.integer("proposals_bytes", kMiB, 1024 * kTiB));
  rules.keep = std::chrono::seconds(in.integer("keep_seconds", 60, 366 * 24 * 3600));
  in.done();
  return rules;
}

LearningScope read_learning(const Json& object, Problems& problems) {
  Checked in(object, "discovery", problems);
  const std::string learning = in.one_of("learning", {"tenant", "shared", "off"});
  in.done();
  if (learning == "off") return LearningScope::off;
  return learning == "shared" ? LearningScope::shared : LearningScope::tenant;
}

// "lean" finds, runs and calls tools: running code can do the rest.
void read_tools(const Json& value, Policy& policy, Checked& in) {
  if (value == "all") return;
  policy.tools.every = false;
  if (value == "lean") {
    policy.tools.names = {"execute_code", "search_tools", "call_tool"};
    return;
  }
  if (!value.is_array()) return in.wrong("tools", "neither \"all\", \"lean\" nor a list of tools");
  if (value.empty() || value.size() > 128) return in.wrong("tools", "a list has 1 to 128 tools");
  for (const Json& name : value) {
    if (!name.is_string() || !is_tool_name(name.get_ref<const std::string&>()))
      return in.wrong("tools", fmt::format("{} is not the name of a tool", printable(dump_json(name), 64)));
    policy.tools.names.push_back(name.get<std::string>());
  }
}

// Names alone: whether these layers exist is known where the policies are used (supervisor/tenants/layers/).
void read_layers(Policy& policy, Checked& in) {
  policy.layer_names = in.strings_or("layers", {});
  if (policy.layer_names.size() > kMaxLayers) in.wrong("layers", fmt::format("more than {} layers", kMaxLayers));
  for (auto at = policy.layer_names.begin(); at != policy.layer_names.end(); ++at) {
    const std::string& name = *at;
    if (!valid_name(name))
      in.wrong("layers", fmt::format("\"{}\" is not the name of a layer: 1 to 64 of a-z, 0-9, '-', '_' and '.'",
                                     printable(name, 64)));
    if (std::count(policy.layer_names.begin(), at, name) == 1)
      in.wrong("layers", fmt::format("\"{}\" is listed twice", printable(name, 64)));
  }
}

bool is_environment_name(std::string_view name) {
  if (name.empty() || name.size() > 64) return false;
  for (char c : name)
    if (!(is_upper(c) || is_digit(c) || c == '_')) return false;
  return !is_digit(name[0]);
}

// Names that make a program load or run other code, and names that Warder sets.
bool is_reserved(std::string_view name) {
  for (std::string_view prefix : {"LD_", "PYTHON", "NODE_", "WARDER_", "BASH_", "GLIBC_", "MALLOC_"})
    if (name.starts_with(prefix)) return true;
  for (std::string_view used : {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "PWD", "ENV", "IFS"})
    if (name == used) return true;
  return false;
}

// Node trusts the certificates of this file, too, before any code runs. A path on the host's file system that jails
// show read-only: no code chooses what the next program trusts.
constexpr std::string_view kExtraCertificates = "NODE_EXTRA_CA_CERTS";
bool is_system_certificate(const Json& value) {
  if (!value.is_string()) return false;
  const std::string& path = value.get_ref<const std::string&>();
  const bool is_plain = path.find("/../") == path.npos && path.find("/./") == path.npos &&
                        path.find("//") == path.npos && !path.ends_with("/..") && !path.ends_with('/');
  return path == "/etc/ssl/certs/ca-certificates.crt" || (path.starts_with("/usr/") && is_plain);
}

void read_environment(const Json& object, Policy& policy, Checked& in) {
  if (!object.is_object()) return in.wrong("environment", "not an object");
  if (object.size() > 32) in.wrong("environment", fmt::format("{} names are more than 32", object.size()));
  size_t total = 0;
  for (const auto& [name, value] : object.items()) {
    const std::string path = "environment." + printable(name, 64);
    if (!is_environment_name(name)) {
      in.wrong_at(path, "a name is 1 to 64 of A-Z, 0-9 and _, not starting with a digit");
    } else if (name == kExtraCertificates && !is_system_certificate(value)) {
      in.wrong_at(path, "not the path of a file below /usr, nor /etc/ssl/certs/ca-certificates.crt");
    } else if (name != kExtraCertificates && is_reserved(name)) {
      in.wrong_at(path, "is set by Warder or changes which files a program loads");
    } else if (!value.is_string() || value.get_ref<const std::string&>().size() > 1024) {
      in.wrong_at(path, "not a string of at most 1024 bytes");
    } else if (value.get_ref<const std::string&>().find_first_of(std::string_view("\0\n", 2)) != std::string::npos) {
      in.wrong_at(path, "contains a NUL or a line end");
    } else {
      total += name.size() + value.get_ref<const std::string&>().size() + 2;
      policy.environment[name] = value.get<std::string>();
    }
  }
  if (total > 8192) in.wrong("environment", fmt::format("{} bytes are more than 8192", total));
}

// What `warder policy import` has noted of the file that it read: for people, and without an effect.
void check_guardrails(Checked& in) {
  const Json* notes = in.find("guardrails");
  if (!notes) return;
  if (!notes->is_object() || notes->size() > 32) return in.wrong("guardrails", "not an object of at most 32 keys");
  for (const auto& [key, note] : notes->items())
    if (!note.is_string() || note.get_ref<const std::string&>().size() > 256)
      in.wrong("guardrails", fmt::format("{}: not a string of at most 256 bytes", printable(key, 64)));
}

void check_lists(Checked& in, const Policy& policy) {
  if (policy.languages.empty()) in.wrong("languages", "must name a language");
  for (const auto& language : policy.languages) {
    if (std::count(kLanguages.begin(), kLanguages.end(), language) == 0)
      in.wrong("languages",
               fmt::format("\"{}\" is not one of: {}", printable(language, 64), fmt::join(kLanguages, ", ")));
    if (std::count(policy.languages.begin(), policy.languages.end(), language) > 1)
      in.wrong("languages", fmt::format("\"{}\" is listed twice", printable(language, 64)));
  }
  for (const auto& pattern : policy.workspaces) {
    std::string plain = pattern;
    std::replace(plain.begin(), plain.end(), '*', 'x');
    if (!valid_workspace_name(plain))
      in.wrong("workspaces",
               fmt::format("\"{}\" is not made of 1 to 64 of A-Z, a-z, 0-9, _, ., - and *, or starts with a dot",
                           printable(pattern, 64)));
  }
}

}  // namespace

bool Policy::allows_language(std::string_view language) const {
  return std::find(languages.begin(), languages.end(), language) != languages.end();
}

bool Policy::allows_workspace(std::string_view workspace) const {
  if (!valid_workspace_name(workspace)) return false;
  if (workspace == kStatelessWorkspace) return false;
  return std::any_of(workspaces.begin(), workspaces.end(),
                     [&](const auto& p) { return matches_pattern(p, workspace); });
}

bool ToolRules::offers(std::string_view tool) const {
  return every || std::find(names.begin(), names.end(), tool) != names.end();
}

bool are_offered_alike(const Policy& one, const Policy& other) {
  const auto same_packages = [](const auto& a, const auto& b) { return a->python == b->python && a->node == b->node; };
  auto seen = [](const Limits& limits) { return std::pair(limits.wall, limits.memory_bytes); };
  return one.tools == other.tools && one.languages == other.languages &&
         std::equal(one.layers.begin(), one.layers.end(), other.layers.begin(), other.layers.end(), same_packages) &&
         one.egress.shown_hosts() == other.egress.shown_hosts() && one.staging.offers() == other.staging.offers() &&
         one.staging.mode == other.staging.mode && seen(one.limits.standard) == seen(other.limits.standard) &&
         seen(one.limits.maximum) == seen(other.limits.maximum);
}

tl::expected<Policy, Problems> parse_policy(std::string name, std::string file, const Json& document,
                                            const HostCapacity& host) {
  Policy policy;
  policy.name = std::move(name);
  policy.file = std::move(file);
  Problems problems;
  Checked in(document, "", problems);
  (void)in.string_or("$schema", "", 1024);
  policy.description = in.string("description", 1024);
  (void)in.string_or("extends", "", 64);  // the caller has merged it already
  check_guardrails(in);
  if (const Json* limits = in.object("limits")) policy.limits = read_limits(*limits, host, problems);
  if (const Json* isolation = in.object("isolation")) policy.isolation = read_isolation(*isolation, problems);
  if (const Json* quota = in.object("quota")) policy.quota = read_quota(*quota, problems);
  if (const Json* admission = in.object("admission")) read_admission(*admission, policy, problems);
  if (const Json* pool = in.object("pool")) read_pool(*pool, policy, problems);
  if (const Json* skills = in.object("skills")) policy.skills = read_skills(*skills, problems);
  if (const Json* sessions = in.object("sessions")) policy.sessions = read_sessions(*sessions, problems);
  if (const Json* named = in.object("named_workspaces"))
    policy.named_workspaces = read_named_workspaces(*named, problems);
  if (const Json* staging = in.object("workspace")) policy.staging = read_staging(*staging, problems);
  if (const Json* workflows = in.find("workflows")) policy.workflows = read_workflows(*workflows, problems);
  if (const Json* egress = in.find("egress")) policy.egress = read_egress_rules(*egress, problems);
  if (const Json* cluster = in.find("cluster")) policy.cluster = read_cluster(*cluster, problems);
  if (const Json* pii = in.object("pii")) policy.pii = read_pii_rules(*pii, problems);
  if (const Json* tools = in.object("tools")) read_tools(*tools, policy, in);
  if (const Json* calls = in.object("calls")) policy.calls = read_call_rules(*calls, problems);
  if (const Json* discovery = in.object("discovery")) policy.learning = read_learning(*discovery, problems);
  if (in.has("shell_exit_1") && in.one_of("shell_exit_1", {"answer", "error"}) == "error")
    policy.shell_exit_1 = ShellExit1::error;
  if (in.has("receipt") && in.one_of("receipt", {"resource", "answer"}) == "answer")
    policy.receipt = ReceiptDelivery::answer;
  if (in.object("languages")) policy.languages = in.strings_or("languages", {});
  if (in.object("workspaces")) policy.workspaces = in.strings_or("workspaces", {});
  check_lists(in, policy);
  read_layers(policy, in);
  policy.seccomp = in.string("seccomp", 64);
  if (const Json* environment = in.object("environment")) read_environment(*environment, policy, in);
  in.done();
  if (!problems.empty()) return tl::unexpected(std::move(problems));
  return policy;
}

}  // namespace policies
