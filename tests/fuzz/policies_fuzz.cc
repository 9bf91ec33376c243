// Policy files: whatever stands in one is a policy or a list of problems, never a crash or a hang. The first byte
// chooses the kind of file: p policy, t tenants, s system call profile.
// c: calls against the rules of a policy, three lines: members of `calls`, the tool as "SERVER.TOOL", the arguments.
// The first rule that fits decides; the decision is the same when it is made again, and for arguments with other order
// of their keys; with too few steps the call is denied.
#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "policies/call_rules.h"
#include "policies/merged.h"
#include "policies/names.h"
#include "policies/policy.h"
#include "policies/schema/json_schema.h"
#include "policies/seccomp.h"
#include "policies/tenant_rules.h"
#include "tests/fuzz/metered_jobs.h"

namespace {

using fuzz::require;
using policies::CallRules;

void check_problems(const std::vector<Error>& problems) {
  require(!problems.empty());
  for (const auto& problem : problems) require(!problem.what.empty() && valid_utf8(problem.what) == problem.what);
}

void policy(const Json& document) {
  auto parsed =
      policies::parse_policy("p", "p.json", policies::merged(Json::object(), document), policies::HostCapacity{2});
  if (!parsed) return check_problems(parsed.error());
  const auto [limits, clamps] = policies::resolve(parsed->limits, {});
  require(clamps.empty());
  require(limits.wall <= parsed->limits.maximum.wall && limits.memory_bytes <= parsed->limits.maximum.memory_bytes);
  require(!parsed->languages.empty());
  (void)parsed->allows_workspace("default");
}

void tenants(const Json& document) {
  auto parsed = policies::TenantRules::parse(document);
  if (!parsed) return check_problems(parsed.error());
  if (auto match = parsed->find({1000, 1000, {27}})) require(policies::valid_name(match->tenant));
}

void profile(const Json& document) {
  auto parsed = policies::parse_seccomp("s", document, nullptr);
  if (!parsed) return check_problems(parsed.error());
  auto program = policies::compile_seccomp(*parsed);
  if (program) require(!program->empty() && program->size() <= policies::kMaxFilterInstructions);
}

// What a pattern means, in the simplest way.
bool fits_pattern(std::string_view pattern, std::string_view text) {
  std::vector<bool> fits(text.size() + 1);  // whether the pattern so far fits the first bytes
  fits[0] = true;
  for (const char c : pattern) {
    if (c == '*') {
      for (size_t i = 1; i < fits.size(); i++) fits[i] = fits[i] || fits[i - 1];
      continue;
    }
    for (size_t i = text.size(); i > 0; i--) fits[i] = fits[i - 1] && text[i - 1] == c;
    fits[0] = false;
  }
  return fits.back();
}

// The first rule that fits; nullptr: none. nullopt: a condition cannot be checked.
std::optional<const policies::CallRule*> deciding_rule(const CallRules& calls, std::string_view name,
                                                       const Json& arguments) {
  for (const auto& rule : calls.rules) {
    if (std::none_of(rule.tools.begin(), rule.tools.end(), [&](auto& item) { return fits_pattern(item, name); }))
      continue;
    if (!rule.when) return &rule;
    const auto fits = rule.when->check(arguments, FreshMeter());
    if (fits) return &rule;
    if (fits.error().code != Code::invalid) return std::nullopt;
  }
  return nullptr;
}

bool is_denial(const Error& error) {
  return error.code == Code::denied && fuzz::is_good_message(error.what, 3000) && error.rule.starts_with("calls.");
}

bool is_unchecked(const Error& error) {
  return is_denial(error) && error.what.find("cannot be checked") != std::string::npos;
}

void decide(const CallRules& calls, std::string_view server, std::string_view tool, const Json& arguments) {
  const std::string name = std::string(server) + '.' + std::string(tool);
  const auto decision = calls.decide(server, tool, arguments, FreshMeter());
  const auto expected = deciding_rule(calls, name, arguments);
  if (!decision || !expected) {  // a condition that takes about as long as a meter allows
    require(decision || is_unchecked(decision.error()));
    return;
  }
  require(decision->rule == *expected);
  require(decision->verdict == (decision->rule ? decision->rule->verdict : calls.otherwise));
  const auto agrees = [&](const Result<CallRules::Decision>& other) {
    if (!other) return is_unchecked(other.error());
    return other->rule == decision->rule && other->verdict == decision->verdict;
  };
  require(agrees(calls.decide(server, tool, arguments, FreshMeter())));
  require(agrees(calls.decide(server, tool, fuzz::with_keys_reversed(arguments), FreshMeter())));
  for (const uint64_t steps : fuzz::kFewSteps)
    require(agrees(calls.decide(server, tool, arguments, fuzz::FewSteps(steps))));
  const auto admitted = calls.admit(server, tool, arguments, FreshMeter());
  require(decision->verdict == policies::Verdict::deny ? !admitted && is_denial(admitted.error()) : agrees(admitted));
  const auto restores = [&](std::string_view argument) {
    return std::any_of(calls.restore.begin(), calls.restore.end(), [&](const policies::RestoreRule& rule) {
      const auto fits = [](auto& patterns, std::string_view text) {
        return std::any_of(patterns.begin(), patterns.end(), [&](auto& item) { return fits_pattern(item, text); });
      };
      return fits(rule.tools, name) && fits(rule.arguments, argument);
    });
  };
  if (!arguments.is_object()) return;
  for (auto member = arguments.begin(); member != arguments.end(); ++member)
    require(calls.restores_into(server, tool, member.key()) == restores(member.key()));
}

void calls(std::string_view text) {
  const auto members = parse_json(fuzz::take_line(text));
  std::string_view tool = fuzz::take_line(text);
  const auto arguments = parse_json(text);
  if (!members || !arguments) return;
  static const Json kCalls = {{"per_execution", 1000},
                              {"bytes", 1 << 20},
                              {"wall_ms", 1000},
                              {"otherwise", "deny"},
                              {"questions", "nobody"},
                              {"results", "as_is"},
                              {"approval", {{"by", "tenant"}, {"expires_s", 60}}}};
  std::vector<Error> problems;
  const CallRules rules = policies::read_call_rules(policies::merged(kCalls, *members), problems);
  if (!problems.empty()) return check_problems(problems);
  const size_t dot = std::min(tool.find('.'), tool.size());
  decide(rules, tool.substr(0, dot), tool.substr(std::min(dot + 1, tool.size())), *arguments);
  const std::string unused = rules.unused_rule();
  require(unused.empty() || (rules.rules.size() > 1 && valid_utf8(unused) == unused));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  if (data[0] == 'c') {
    calls({reinterpret_cast<const char*>(data) + 1, size - 1});
    return 0;
  }
  auto document = parse_json({reinterpret_cast<const char*>(data) + 1, size - 1});
  if (!document) return 0;
  switch (data[0]) {
    case 'p':
      policy(*document);
      break;
    case 't':
      tenants(*document);
      break;
    case 's':
      profile(*document);
      break;
    default:
      break;
  }
  return 0;
}
