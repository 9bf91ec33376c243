#include "policies/seccomp.h"

#include <fmt/format.h>
#include <linux/seccomp.h>
#include <seccomp.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <map>
#include <set>

#include "policies/checked.h"
#include "policies/forbidden_calls.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/log.h"

namespace policies {

namespace {

using ProfileProblems = std::vector<Error>;
constexpr size_t kMaxSeccompRules = 200, kMaxCalls = 512, kMaxValues = 64;
constexpr size_t kMaxValuesOfCalls = 8192;  // calls times values, all rules; the shipped profile has 350

// Reads a number, or the name of a constant.
std::optional<uint32_t> read_value(const Json& value, const std::string& path, Checked& in) {
  if (value.is_string()) {
    const auto& name = value.get_ref<const std::string&>();
    if (auto existing = seccomp_constant(name)) return existing;
    in.wrong_at(path, fmt::format("\"{}\" is not a known constant", printable(name, 64)));
    return {};
  }
  if (value.is_number_integer() && value >= 0 && value <= UINT32_MAX) return value.get<uint32_t>();
  in.wrong_at(path, "not the name of a constant or a number in 0..4294967295");
  return {};
}

std::vector<uint32_t> read_values(Checked& in, std::string_view key) {
  std::vector<uint32_t> values;
  const Json& list = in.list_or_empty(key);
  if (list.empty() || list.size() > kMaxValues) in.wrong(key, fmt::format("not a list of 1 to {} values", kMaxValues));
  for (size_t i = 0; i < std::min(list.size(), kMaxValues); i++)
    if (auto value = read_value(list[i], fmt::format("{}[{}]", in.path_of(key), i), in)) values.push_back(*value);
  return values;
}

uint32_t joined_bits(const std::vector<uint32_t>& bits) {
  uint32_t mask = 0;
  for (uint32_t bit : bits) mask |= bit;
  return mask;
}

ArgumentTest read_test(const Json& object, const std::string& path, ProfileProblems& problems) {
  ArgumentTest test;
  Checked in(object, path, problems);
  test.argument = static_cast<unsigned>(in.integer("argument", 0, 5));
  if (in.has("without") == in.has("one_of")) {
    in.wrong_at(path, "needs one_of (with or without mask) or without, and not both");
  } else if (in.has("without")) {
    test.mask = joined_bits(read_values(in, "without"));
    test.values = {0};
  } else {
    if (in.has("mask")) test.mask = joined_bits(read_values(in, "mask"));
    test.values = read_values(in, "one_of");
    for (uint32_t value : test.values)
      if ((value & ~test.mask) != 0)
        in.wrong("one_of", fmt::format("{:#x} has bits outside of the mask {:#x}", value, test.mask));
  }
  in.done();
  return test;
}

// The keys that rules of a list may have besides `comment` and `calls`.
struct RuleKeys {
  bool when;
  bool error;
};
constexpr RuleKeys kAllowKeys{true, true}, kDenyKeys{false, true}, kPlainKeys{false, false};

int read_error(Checked& in) {
  static const std::vector<std::string> kNames = seccomp_errno_names();
  return in.has("errno") ? *seccomp_errno(in.one_of("errno", kNames)) : 0;
}

void refuse_forbidden_calls(Checked& in, const std::vector<std::string>& calls) {
  for (const auto& call : calls) {
    const int number = seccomp_syscall_resolve_name(call.c_str());
    if (number >= 0 && is_forbidden_call(static_cast<unsigned>(number)))
      in.wrong("calls", fmt::format("\"{}\" is refused in every jail: remove it from `allow`", call));
  }
}

std::vector<SeccompRule> read_rules(Checked& profile, const char* key, RuleKeys keys, ProfileProblems& problems) {
  std::vector<SeccompRule> rules;
  const Json& list = profile.list_or_empty(key);
  if (list.size() > kMaxSeccompRules)
    profile.wrong(key, fmt::format("{} rules are more than {}", list.size(), kMaxSeccompRules));
  for (size_t i = 0; i < std::min(list.size(), kMaxSeccompRules); i++) {
    const std::string path = fmt::format("{}[{}]", profile.path_of(key), i);
    Checked in(list[i], path, problems);
    SeccompRule rule;
    rule.comment = in.string("comment", 2000);
    rule.calls = in.strings_or("calls", {});
    if (rule.calls.empty() || rule.calls.size() > kMaxCalls)
      in.wrong("calls", fmt::format("not a list of 1 to {} names", kMaxCalls));
    for (const auto& call : rule.calls)
      if (seccomp_syscall_resolve_name(call.c_str()) == __NR_SCMP_ERROR)
        in.wrong("calls", fmt::format("\"{}\" is not a system call that libseccomp {}.{}.{} knows", printable(call, 64),
                                      SCMP_VER_MAJOR, SCMP_VER_MINOR, SCMP_VER_MICRO));
    if (keys.when) refuse_forbidden_calls(in, rule.calls);
    if (keys.error) rule.error = read_error(in);
    if (keys.when && rule.error != 0 && !in.has("when"))
      in.wrong("errno", "is for calls that are allowed under conditions (`when`) only");
    if (keys.when && in.has("when")) {
      const Json& tests = in.list_or_empty("when");
      if (tests.empty() || tests.size() > 6) in.wrong("when", "not a list of 1 to 6 tests");
      std::set<unsigned> seen;
      for (size_t t = 0; t < std::min<size_t>(tests.size(), 6); t++) {
        rule.when.push_back(read_test(tests[t], fmt::format("{}.when[{}]", path, t), problems));
        // A second test of the argument is most often a mistake: no value passes both.
        if (!seen.insert(rule.when.back().argument).second)
          in.wrong("when", fmt::format("tests argument {} twice", rule.when.back().argument));
      }
    }
    in.done();
    rules.push_back(std::move(rule));
  }
  return rules;
}

// Several conditional rules may allow one call. In all other cases, two rules for one call contradict each other.
void check_unique(Checked& in, const SeccompProfile& profile) {
  enum class Seen { conditionally, finally };
  std::map<std::string, Seen> seen;
  auto check = [&](const std::vector<SeccompRule>& rules) {
    for (const auto& rule : rules) {
      const Seen now = rule.when.empty() ? Seen::finally : Seen::conditionally;
      for (const auto& call : rule.calls) {
        auto [it, added] = seen.emplace(call, now);
        if (!added && (now == Seen::finally || it->second == Seen::finally))
          in.wrong_at(printable(call, 64), "is listed in two rules, and one of them has no conditions");
      }
    }
  };
  for (auto* rules : {&profile.allow, &profile.missing, &profile.kill, &profile.deny}) check(*rules);
}

// The errno of each call that is allowed under conditions only, if none of its rules fits. 0: no rule names one.
std::map<std::string, int> errors_of_conditional_calls(const SeccompProfile& profile) {
  std::map<std::string, int> errors;
  for (const auto& rule : profile.allow) {
    if (rule.when.empty()) continue;
    for (const auto& call : rule.calls) {
      int& error = errors[call];
      if (rule.error != 0) error = rule.error;
    }
  }
  return errors;
}

void check_errors(Checked& in, const SeccompProfile& profile) {
  const auto errors = errors_of_conditional_calls(profile);
  for (const auto& rule : profile.allow) {
    if (rule.error == 0) continue;
    for (const auto& call : rule.calls)
      if (errors.at(call) != rule.error)
        in.wrong_at(printable(call, 64), "is allowed by two rules that name different values of errno");
  }
}

// Every value of every call can be an instruction; without a bound a reload could take very long.
void check_size(Checked& in, const SeccompProfile& profile) {
  size_t total = 0;
  for (const auto& rule : profile.allow) {
    size_t values = 0;
    for (const auto& test : rule.when) values += test.values.size();
    total += rule.calls.size() * std::max<size_t>(values, 1);
  }
  if (total > kMaxValuesOfCalls)
    in.wrong("allow", fmt::format("calls multiplied by values are more than {}", kMaxValuesOfCalls));
}

// A call that the child names gets the child's rules only, not those of its base.
void inherit(SeccompProfile& child, const SeccompProfile& base) {
  std::set<std::string> own;
  for (auto* rules : {&child.allow, &child.missing, &child.kill, &child.deny})
    for (const auto& rule : *rules) own.insert(rule.calls.begin(), rule.calls.end());
  auto add = [&](std::vector<SeccompRule>& to, const std::vector<SeccompRule>& from) {
    for (SeccompRule rule : from) {
      std::erase_if(rule.calls, [&](const auto& call) { return own.contains(call); });
      if (!rule.calls.empty()) to.push_back(std::move(rule));
    }
  };
  add(child.allow, base.allow);
  add(child.missing, base.missing);
  add(child.kill, base.kill);
  add(child.deny, base.deny);
}

// The number of a call on this machine; empty for a call of another architecture.
std::optional<size_t> number_of(const std::string& call) {
  const int number = seccomp_syscall_resolve_name(call.c_str());
  if (number < 0) return std::nullopt;
  return static_cast<size_t>(number);
}

// The answers that need no look at arguments, by number; EPERM for a call that no rule names.
std::vector<CallAnswer> plain_answers(const SeccompProfile& profile, size_t count) {
  std::vector<CallAnswer> answers(count, {SECCOMP_RET_ERRNO | EPERM, {}});
  auto set = [&](const SeccompRule& rule, uint32_t action) {
    for (const auto& call : rule.calls)
      if (const auto number = number_of(call); number && *number < count) answers[*number].action = action;
  };
  for (const auto& rule : profile.missing) set(rule, SECCOMP_RET_ERRNO | ENOSYS);
  for (const auto& rule : profile.kill) set(rule, SECCOMP_RET_KILL_PROCESS);
  for (const auto& rule : profile.deny)
    if (rule.error != 0) set(rule, SECCOMP_RET_ERRNO | static_cast<uint32_t>(rule.error));
  for (const auto& rule : profile.allow)
    if (rule.when.empty()) set(rule, SECCOMP_RET_ALLOW);
  return answers;
}

void add_conditions(const SeccompProfile& profile, std::vector<CallAnswer>& answers) {
  for (const auto& [call, error] : errors_of_conditional_calls(profile))
    if (const auto number = number_of(call); number && *number < answers.size())
      answers[*number].action = SECCOMP_RET_ERRNO | static_cast<uint32_t>(error == 0 ? EPERM : error);
  for (const auto& rule : profile.allow) {
    if (rule.when.empty()) continue;
    for (const auto& call : rule.calls)
      if (const auto number = number_of(call); number && *number < answers.size())
        answers[*number].allowed_when.push_back(rule.when);
  }
}

}  // namespace

tl::expected<SeccompProfile, ProfileProblems> parse_seccomp(std::string name, const Json& document,
                                                            const SeccompProfile* base) {
  SeccompProfile profile;
  profile.name = std::move(name);
  ProfileProblems problems;
  Checked in(document, "", problems);
  (void)in.string_or("$schema", "", 1024);
  (void)in.string("comment", 4000);
  (void)in.string_or("extends", "", 64);
  profile.log = in.boolean_or("log", base && base->log);
  profile.newest = base ? in.string_or("newest", base->newest, 64) : in.string("newest", 64);
  if (!profile.newest.empty() && seccomp_syscall_resolve_name(profile.newest.c_str()) < 0)
    in.wrong("newest", fmt::format("\"{}\" is not a system call of this machine", printable(profile.newest, 64)));
  profile.allow = read_rules(in, "allow", kAllowKeys, problems);
  profile.missing = read_rules(in, "missing", kPlainKeys, problems);
  profile.kill = read_rules(in, "kill", kPlainKeys, problems);
  profile.deny = read_rules(in, "deny", kDenyKeys, problems);
  in.done();
  if (in.good()) check_unique(in, profile);
  if (in.good()) check_errors(in, profile);
  if (problems.empty() && base) inherit(profile, *base);
  if (problems.empty()) check_size(in, profile);
  if (!problems.empty()) return tl::unexpected(std::move(problems));
  return profile;
}

Result<std::vector<sock_filter>> compile_seccomp(const SeccompProfile& profile) {
  const auto newest = number_of(profile.newest);
  if (!newest) return fail(Code::invalid, "newest: '" + profile.newest + "' is not a system call of this machine");
  std::vector<CallAnswer> answers = plain_answers(profile, *newest + 1);
  add_conditions(profile, answers);
  std::vector<sock_filter> program = make_call_tree(answers);
  if (program.size() > kMaxFilterInstructions)
    return fail(Code::invalid, fmt::format("{} instructions are more than the kernel's limit of {}", program.size(),
                                           kMaxFilterInstructions));
  return program;
}

uint32_t seccomp_flags(const SeccompProfile& profile) { return profile.log ? SECCOMP_FILTER_FLAG_LOG : 0; }

}  // namespace policies
