#include "supervisor/programs/cli/admin/policies/policy_questions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "policies/call_rules.h"
#include "policies/egress_rules.h"
#include "policies/host_name.h"
#include "policies/limits.h"
#include "policies/names.h"
#include "policies/policy.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/work_meter.h"
#include "supervisor/programs/cli/admin/policies/policy_documents.h"

namespace admin {
namespace {

struct Request {
  const policies::Policy& policy;
  const std::vector<std::string>& folders;
  std::vector<PolicyDocument> documents;  // the policy's own file, then the files that it extends

  // `rule` is the key that decides. `remedy` says which lines an administrator should write into a policy.
  PolicyAnswer answer(std::string about, Permission allowed, std::string why, const std::string& rule,
                      const std::string& remedy = {}) const {
    PolicyAnswer policy_answer{std::move(about), allowed, std::move(why), rule, origin_of(documents, rule), {}};
    if (const std::string guardrail = guardrail_of(documents, rule); !guardrail.empty())
      policy_answer.why += " (" + guardrail + ")";
    if (allowed != Permission::yes && !remedy.empty())
      policy_answer.remedy =
          fmt::format("{} in a policy below /etc/warder/policies, then: systemctl reload warder", remedy);
    return policy_answer;
  }
};

struct CallRule {
  std::string list, comment, file;
  size_t number = 0;
  bool conditional = false;
  std::string error;  // the errno that the rule names
};

// The rules that name the call; earlier rules win.
std::vector<CallRule> rules_about(const std::vector<PolicyDocument>& profile, const std::string& call) {
  std::vector<CallRule> call_rules;
  for (const char* list : {"kill", "deny", "missing", "allow"}) {
    for (const auto& document : profile) {
      const Json& rules = member(document.value, list);
      for (size_t i = 0; i < rules.size(); i++) {
        const Json& calls = member(rules[i], "calls");
        if (std::find(calls.begin(), calls.end(), Json(call)) == calls.end()) continue;
        call_rules.push_back(
            {list, text(rules[i], "comment"), document.file, i, rules[i].contains("when"), text(rules[i], "errno")});
      }
    }
  }
  return call_rules;
}

Result<PolicyAnswer> about_call(const Request& request, const std::string& call) {
  const std::string about = "call " + call, remedy = "write a profile that allows the call, and name it as \"seccomp\"";
  auto folders = request.folders;
  for (auto& folder : folders) folder += "/seccomp";
  TRY(const auto profile, documents_of(folders, request.policy.seccomp));
  const auto rules = rules_about(profile, call);
  if (rules.empty())
    return request.answer(about, Permission::no,
                          fmt::format("no rule of the profile {} names it: it answers EPERM", request.policy.seccomp),
                          "seccomp", remedy);
  const CallRule& first = rules.front();
  std::string subject = "is allowed";
  if (first.list == "kill") subject = "ends the program, outcome forbidden_call";
  if (first.list == "deny") subject = "answers " + (first.error.empty() ? "EPERM" : first.error);
  if (first.list == "missing") subject = "answers ENOSYS, as on a kernel without it";
  Permission allowed = first.list == "allow" ? Permission::yes : Permission::no;
  if (first.conditional) {
    allowed = Permission::limited;
    subject += " with some arguments";
  }
  PolicyAnswer answer = request.answer(about, allowed, first.comment.empty() ? subject : subject + ": " + first.comment,
                                       "seccomp", remedy);
  answer.rule = fmt::format("seccomp/{}: {}[{}]", request.policy.seccomp, first.list, first.number);
  answer.file = first.file;
  return answer;
}

enum class Listed { no, yes };

PolicyAnswer about_list(const Request& request, const std::string& about, const std::string& value, Listed listed,
                        const char* key) {
  if (listed == Listed::yes) return request.answer(about, Permission::yes, "the policy lists it", key);
  return request.answer(about, Permission::no, "the policy does not list it", key,
                        fmt::format("add \"{}\" to \"{}\"", value, key));
}

Result<PolicyAnswer> about_amount(const Request& request, const std::string& about, const std::string& value,
                                  const char* key, double unit, uint64_t max, const std::string& max_text) {
  char* end = nullptr;
  const double requested = std::strtod(value.c_str(), &end);
  if (value.empty() || *end != '\0' || !std::isfinite(requested) || requested <= 0)
    return fail(Code::invalid, about + ": not a number above 0", "for example 60");
  const std::string rule = std::string("limits.maximum.") + key;
  if (requested * unit <= static_cast<double>(max))
    return request.answer(about, Permission::yes, "up to " + max_text + " may be asked for", rule);
  return request.answer(about, Permission::limited, max_text + " is given instead, and the answer says so", rule,
                        fmt::format("raise \"{}\"", rule));
}

bool names_tool(const policies::CallRule& rule, const std::string& tool) {
  return std::any_of(rule.tools.begin(), rule.tools.end(),
                     [&](const auto& pattern) { return policies::matches_pattern(pattern, tool); });
}

// An upstream server's tool: the answer comes from the first call rule that fits its name and the arguments.
Result<PolicyAnswer> about_other_tool(const Request& request, const std::string& tool, const ParsedCommand& command) {
  const std::string about = "tool " + tool, arguments_text = command.value("arguments", "");
  Json arguments = Json::object();
  if (!arguments_text.empty()) {
    auto parsed = parse_json(arguments_text);
    if (!parsed || !parsed->is_object())
      return fail(Code::invalid, "--arguments: not a JSON object", "for example '{\"path\": \"notes.txt\"}'");
    arguments = *std::move(parsed);
  }
  const auto& calls = request.policy.calls;
  if (arguments_text.empty()) {
    for (const auto& rule : calls.rules)
      if (names_tool(rule, tool) && rule.when)
        return request.answer(
            about, Permission::limited,
            fmt::format("the rule \"{}\" depends on the arguments: give them with --arguments", rule.name),
            "calls.rules", "change that rule");
  }
  const size_t dot = tool.find('.');
  WorkMeter meter = bounded_work();
  TRY(const auto decision, calls.decide(tool.substr(0, dot), tool.substr(dot + 1), arguments, meter));
  const std::string key = decision.rule ? "calls.rules" : "calls.otherwise";
  std::string why = decision.rule ? fmt::format("the rule \"{}\" {}", decision.rule->name,
                                                decision.rule->why.empty() ? "names it" : "says: " + decision.rule->why)
                                  : "no rule names it";
  using policies::Verdict;
  Permission allowed = Permission::yes;
  if (decision.verdict == Verdict::deny) allowed = Permission::no;
  if (decision.verdict == Verdict::ask) {
    allowed = Permission::limited;
    why += "; a person decides";
  }
  PolicyAnswer answer = request.answer(about, allowed, why, key, fmt::format("change \"{}\"", key));
  if (decision.rule) answer.rule += fmt::format("[{}]", decision.rule - calls.rules.data());
  return answer;
}

PolicyAnswer about_tenant(const ChosenPolicy& chosen) {
  const bool has_rule = !chosen.file.empty() || !chosen.rule.empty();
  const std::string rule = has_rule ? chosen.rule : "no tenants.json: each user is a tenant";
  if (!chosen.policy)
    return {"tenant",
            Permission::no,
            "no rule fits this client",
            "rules",
            chosen.file,
            "add a rule to tenants.json below /etc/warder/policies, then: systemctl reload warder"};
  return {"tenant", Permission::yes, fmt::format("{}, under the policy {}", chosen.tenant, chosen.policy->name),
          rule,     chosen.file,     {}};
}

PolicyAnswer about_skills(const Request& request) {
  const bool save = request.policy.skills.save;
  return request.answer("skills", save ? Permission::yes : Permission::no,
                        save ? "they may be saved and deleted" : "they may not be saved or deleted", "skills.save",
                        "set \"skills.save\" to true");
}

PolicyAnswer about_personal_data(const Request& request) {
  const Json all = merged(request.documents);
  const std::string user = text(member(all, "pii"), "restore");
  Permission allowed = Permission::no;
  std::string why = "neither agents nor programs can restore tokens";
  if (user == "agents") {
    allowed = Permission::yes;
    why = "agents and programs can restore tokens";
  } else if (user == "code") {
    allowed = Permission::limited;
    why = "programs can restore tokens, agents cannot";
  }
  return request.answer("personal data", allowed, why, "pii.restore", "set \"pii.restore\" to \"code\" or \"agents\"");
}

PolicyAnswer about_network(const Request& request) {
  if (request.policy.egress.is_on())
    return request.answer(
        "network", Permission::limited,
        "a jail has only its own interface lo, and reaches through the egress proxy the hosts that the "
        "policy's egress rules name: ask about one with --host",
        "egress.rules", "change \"egress.rules\"");
  return {"network",
          Permission::no,
          "a jail has only its own interface lo, and the policy has no egress rules",
          "every jail",
          {},
          "add \"egress\" to the policy, or call a tool of an upstream server that has network (\"calls\")"};
}

// A request of code in a jail to a host, as the proxy decides it; addresses are not looked up here.
Result<> answer_host(const Request& request, const ParsedCommand& command, std::vector<PolicyAnswer>& answers) {
  if (!command.has("host")) {
    for (const char* flag : {"port", "method", "path"})
      if (command.has(flag)) return fail(Code::invalid, fmt::format("--{} without --host", flag), "name the host, too");
    return {};
  }
  policies::EgressTarget target;
  auto host_port = policies::parse_host_port(command.value("host", "") + ":" + command.value("port", "443"), true);
  if (!host_port) return tl::unexpected<Error>(std::move(host_port).error().within("--host"));
  target.host = host_port->host;
  target.port = host_port->port;
  target.method = command.value("method", "CONNECT");
  if (!target.is_tunnel()) target.path = command.value("path", "/");
  const policies::EgressRules& egress = request.policy.egress;
  const policies::EgressDecision decision = egress.decide(target);
  const std::string about = fmt::format("host {}:{}", target.host, target.port);
  if (!egress.is_on()) {
    PolicyAnswer none = about_network(request);
    none.about = about;
    answers.push_back(std::move(none));
    return {};
  }
  using policies::Verdict;
  std::string why = decision.why;
  if (decision.verdict != Verdict::deny) why = fmt::format("{} fits", egress.rule_name(*decision.rule));
  if (decision.verdict == Verdict::ask) why += "; a person decides";
  const Permission allowed = decision.verdict == Verdict::allow ? Permission::yes
                             : decision.verdict == Verdict::ask ? Permission::limited
                                                                : Permission::no;
  if (decision.rule && !decision.remedy.empty()) why += "; " + decision.remedy;
  PolicyAnswer answer = request.answer(about, allowed, why, "egress.rules", "change \"egress.rules\"");
  if (decision.rule) answer.rule += fmt::format("[{}]", *decision.rule);
  answers.push_back(std::move(answer));
  return {};
}

Result<> answer_limits(const Request& request, const ParsedCommand& command, std::vector<PolicyAnswer>& answers) {
  const auto& max = request.policy.limits.maximum;
  if (const auto value = command.value("memory", ""); command.has("memory")) {
    TRY(auto answer, about_amount(request, "memory " + value + " MB", value, "memory_bytes", 1 << 20, max.memory_bytes,
                                  policies::bytes_text(max.memory_bytes)));
    answers.push_back(std::move(answer));
  }
  if (const auto value = command.value("timeout", ""); command.has("timeout")) {
    TRY(auto answer, about_amount(request, "timeout " + value + " s", value, "wall_ms", 1000,
                                  static_cast<uint64_t>(max.wall.count()), policies::duration_text(max.wall)));
    answers.push_back(std::move(answer));
  }
  return {};
}

Result<> answer_tool(const Request& request, const ParsedCommand& command, std::vector<PolicyAnswer>& answers) {
  if (!command.has("tool")) {
    if (command.has("arguments")) return fail(Code::invalid, "--arguments without --tool", "name the tool, too");
    return {};
  }
  const std::string tool = command.value("tool", "");
  if (tool.find('.') == tool.npos) {
    answers.push_back(about_list(request, "tool " + tool, tool,
                                 request.policy.tools.offers(tool) ? Listed::yes : Listed::no, "tools"));
    return {};
  }
  TRY(auto answer, about_other_tool(request, tool, command));
  answers.push_back(std::move(answer));
  return {};
}

}  // namespace

std::string_view allowed_name(Permission allowed) {
  if (allowed == Permission::yes) return "allowed";
  return allowed == Permission::limited ? "limited" : "refused";
}

Result<std::vector<PolicyAnswer>> answer_request(const policies::Store& store, const ChosenPolicy& chosen,
                                                 const ParsedCommand& command) {
  std::vector<PolicyAnswer> answers;
  if (!command.has("policy")) answers.push_back(about_tenant(chosen));
  if (!chosen.policy) return answers;
  const policies::Policy& policy = *chosen.policy;
  TRY(auto documents, documents_of(store.folders(), policy.name));
  const Request request{policy, store.folders(), std::move(documents)};
  if (command.has("language")) {
    const auto language = command.value("language", "");
    answers.push_back(about_list(request, "language " + language, language,
                                 policy.allows_language(language) ? Listed::yes : Listed::no, "languages"));
  }
  CHECKED(answer_limits(request, command, answers));
  if (command.has("workspace")) {
    const auto workspace = command.value("workspace", "");
    answers.push_back(about_list(request, "workspace " + workspace, workspace,
                                 policy.allows_workspace(workspace) ? Listed::yes : Listed::no, "workspaces"));
  }
  if (command.has("network")) answers.push_back(about_network(request));
  CHECKED(answer_host(request, command, answers));
  for (const auto& call : command.values("call")) {
    TRY(PolicyAnswer answer, about_call(request, call));
    answers.push_back(std::move(answer));
  }
  CHECKED(answer_tool(request, command, answers));
  if (command.has("save-skill")) answers.push_back(about_skills(request));
  if (command.has("restore-pii")) answers.push_back(about_personal_data(request));
  if (answers.empty())
    return fail(Code::invalid, "no question is given",
                "for example: warder policy explain --language shell --memory 4096");
  return answers;
}

}  // namespace admin
