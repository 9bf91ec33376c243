#include "policies/call_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "policies/checked.h"
#include "policies/names.h"
#include "policies/schema/json_schema.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/log.h"

namespace policies {
namespace {

constexpr size_t kMaxCallRules = 200, kMaxToolPatterns = 200, kMaxRates = 50;

Verdict verdict_of(const std::string& name) {
  if (name == "allow") return Verdict::allow;
  return name == "ask" ? Verdict::ask : Verdict::deny;
}

void check_tools(const std::vector<std::string>& tools, Checked& in) {
  if (tools.empty() || tools.size() > kMaxToolPatterns) in.wrong("tools", "a list of 1 to 200 patterns");
  for (const auto& pattern : tools)
    if (pattern != "*" && pattern.find('.') == pattern.npos)
      in.wrong("tools", fmt::format("\"{}\" is not SERVER.TOOL, like \"files.write_*\"", printable(pattern, 64)));
}

CallRule read_rule(const Json& object, const std::string& path, std::vector<Error>& problems) {
  Checked in(object, path, problems);
  CallRule rule;
  rule.name = in.string("name", 64);
  rule.tools = in.strings_or("tools", {});
  rule.verdict = verdict_of(in.one_of("verdict", {"deny", "allow", "ask"}));
  rule.why = in.string_or("why", "", 500);
  rule.remedy = in.string_or("remedy", "", 500);
  if (const Json* when = in.find("when")) {
    WorkMeter meter = bounded_work();
    auto compiled = JsonSchema::compile(std::make_shared<const Json>(*when), JsonSchema::Unknown::refuse, meter);
    if (compiled) {
      rule.when = *std::move(compiled);
    } else {
      in.wrong("when", compiled.error().what);
    }
  }
  in.done();
  check_tools(rule.tools, in);
  return rule;
}

RestoreRule read_restore(const Json& object, const std::string& path, std::vector<Error>& problems) {
  Checked in(object, path, problems);
  RestoreRule rule{in.strings_or("tools", {}), in.strings_or("arguments", {})};
  in.done();
  check_tools(rule.tools, in);
  if (rule.arguments.empty()) in.wrong("arguments", "contains no argument");
  return rule;
}

ApprovalRules read_approval(const Json& object, const std::string& path, std::vector<Error>& problems) {
  Checked in(object, path, problems);
  ApprovalRules rules;
  if (in.one_of("by", {"tenant", "administrator"}) == "administrator") rules.by = ApprovalRules::By::administrator;
  rules.expires = std::chrono::seconds(in.integer("expires_s", 1, 86'400));
  in.done();
  return rules;
}

RateRule read_rate(const Json& object, const std::string& path, std::vector<Error>& problems) {
  Checked in(object, path, problems);
  RateRule rule;
  rule.name = in.string("name", 64);
  rule.tools = in.strings_or("tools", {});
  rule.per_minute = static_cast<uint32_t>(in.integer("per_minute", 0, 10'000));
  in.done();
  check_tools(rule.tools, in);
  return rule;
}

}  // namespace

std::string CallRules::Decision::name() const { return rule ? "calls." + rule->name : "calls.otherwise"; }

bool CallRules::restores_into(std::string_view server, std::string_view tool, std::string_view argument) const {
  const std::string name = fmt::format("{}.{}", server, tool);
  return std::any_of(restore.begin(), restore.end(), [&](const RestoreRule& rule) {
    auto fits = [](const std::vector<std::string>& patterns, std::string_view text) {
      return std::any_of(patterns.begin(), patterns.end(), [&](auto& item) { return matches_pattern(item, text); });
    };
    return fits(rule.tools, name) && fits(rule.arguments, argument);
  });
}

std::string CallRules::unused_rule() const {
  const auto all = std::find_if(rules.begin(), rules.end(), [](const CallRule& rule) {
    return !rule.when && std::any_of(rule.tools.begin(), rule.tools.end(), [](const std::string& pattern) {
      return pattern == "*" || pattern == "*.*";  // each name has a dot
    });
  });
  if (all == rules.end() || all + 1 == rules.end()) return {};
  return fmt::format("calls.rules: '{}' is never used, because '{}' before it fits every call", (all + 1)->name,
                     all->name);
}

Result<CallRules::Decision> CallRules::decide(std::string_view server, std::string_view tool, const Json& arguments,
                                              WorkMeter& meter) const {
  const std::string name = fmt::format("{}.{}", server, tool);
  for (const CallRule& rule : rules) {
    const bool named = std::any_of(rule.tools.begin(), rule.tools.end(),
                                   [&name](const auto& pattern) { return matches_pattern(pattern, name); });
    if (!named) continue;
    if (rule.when) {
      auto checked = rule.when->check(arguments, meter);
      if (!checked && checked.error().code != Code::invalid)
        return fail(Code::denied, fmt::format("rule '{}' cannot be checked: {}", rule.name, checked.error().what),
                    "send smaller arguments", "calls." + rule.name);
      if (!checked) continue;
    }
    return Decision{rule.verdict, &rule};
  }
  return Decision{otherwise, nullptr};
}

Result<CallRules::Decision> CallRules::admit(std::string_view server, std::string_view tool, const Json& arguments,
                                             WorkMeter& meter) const {
  TRY(const Decision decision, decide(server, tool, arguments, meter));
  if (decision.verdict != Verdict::deny) return decision;
  return tl::unexpected<Error>(refusal(server, tool, decision, "is not allowed"));
}

Error refusal(std::string_view server, std::string_view tool, const CallRules::Decision& decision,
              std::string_view cause) {
  const std::string call = printable(fmt::format("{}.{}", server, tool), 200);
  if (!decision.rule && decision.verdict == Verdict::deny)
    return {Code::denied, 0, fmt::format("no rule of the policy allows {}", call),
            "the administrator can add a rule to `calls.rules` of the policy", decision.name()};
  std::string message = fmt::format("{} {}", call, cause),
              remedy = "solve the task without this tool, or ask the administrator";
  if (const CallRule* rule = decision.rule) {
    if (!rule->why.empty()) message += ": " + rule->why;
    if (rule->when) remedy = "other arguments may be allowed";
    if (!rule->remedy.empty()) remedy = rule->remedy;
  }
  return {Code::denied, 0, std::move(message), std::move(remedy), decision.name()};
}

CallRules read_call_rules(const Json& object, std::vector<Error>& problems) {
  Checked in(object, "calls", problems);
  CallRules calls;
  calls.per_execution = static_cast<uint32_t>(in.integer("per_execution", 0, 100'000));
  calls.bytes = static_cast<uint64_t>(in.integer("bytes", 1024, 1LL << 32));
  calls.wall = std::chrono::milliseconds(in.integer("wall_ms", 10, 3'600'000));
  calls.otherwise = verdict_of(in.one_of("otherwise", {"deny", "allow", "ask"}));
  const Json& rules = in.list_or_empty("rules");
  if (rules.size() > kMaxCallRules) in.wrong("rules", fmt::format("more than {} rules", kMaxCallRules));
  for (size_t i = 0; i < rules.size() && i < kMaxCallRules; i++)
    calls.rules.push_back(read_rule(rules[i], fmt::format("{}[{}]", in.path_of("rules"), i), problems));
  if (const Json* approval = in.object("approval"))
    calls.approval = read_approval(*approval, in.path_of("approval"), problems);
  if (in.one_of("questions", {"client", "nobody"}) == "client") calls.questions = CallRules::Questions::client;
  const Json& rates = in.list_or_empty("rates");
  if (rates.size() > kMaxRates) in.wrong("rates", fmt::format("more than {} rules", kMaxRates));
  for (size_t i = 0; i < rates.size() && i < kMaxRates; i++)
    calls.rates.push_back(read_rate(rates[i], fmt::format("{}[{}]", in.path_of("rates"), i), problems));
  for (size_t i = 0; i < calls.rates.size(); i++) {
    const bool is_duplicate = std::any_of(calls.rates.begin(), calls.rates.begin() + static_cast<ptrdiff_t>(i),
                                          [&](const RateRule& other) { return other.name == calls.rates[i].name; });
    if (is_duplicate) in.wrong("rates", fmt::format("two are named '{}'", calls.rates[i].name));
  }
  if (in.one_of("results", {"as_is", "tokenised"}) == "tokenised") calls.results = CallRules::Results::tokenised;
  const Json& restored = in.list_or_empty("restore");
  if (restored.size() > kMaxCallRules) in.wrong("restore", fmt::format("more than {} rules", kMaxCallRules));
  for (size_t i = 0; i < restored.size() && i < kMaxCallRules; i++)
    calls.restore.push_back(read_restore(restored[i], fmt::format("{}[{}]", in.path_of("restore"), i), problems));
  in.done();
  return calls;
}

}  // namespace policies
