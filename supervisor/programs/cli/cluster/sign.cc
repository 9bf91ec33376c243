// `warder cluster sign`: a policy, a file of tool definitions or a skill as a signed rule, for all nodes of the
// cluster.
#include <fmt/format.h>

#include <charconv>

#include "policies/names.h"
#include "skills/bundle.h"
#include "skills/name.h"
#include "supervisor/base/json/json_file.h"
#include "supervisor/base/log.h"
#include "supervisor/cluster/trust/private_file.h"
#include "supervisor/cluster/trust/rule_store.h"
#include "supervisor/programs/cli/admin/command.h"
#include "supervisor/programs/cli/admin/values.h"
#include "supervisor/programs/cli/cluster/cluster_folder.h"
#include "supervisor/programs/cli/terminal.h"

namespace admin {
namespace {

// A skill's folder, with SKILL.md, as one text.
Result<std::string> skill_content(const std::string& path, const std::string& name) {
  const Fd folder(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder && errno == ENOTDIR)
    return fail(Code::invalid, fmt::format("--file: {} is no folder", printable(path)),
                "with --skill, give the folder of the skill, which has SKILL.md");
  if (!folder) return fail_path(errno, "read", path);
  auto text = skills::write_bundle(folder.get(), name);
  if (!text) return tl::unexpected<Error>(std::move(text).error().within("--file: " + path));
  if (text->size() <= cluster::kMaxRuleContent) return text;
  return fail(Code::exhausted,
              fmt::format("--file: {}: a skill for a cluster has at most {} bytes, and this one has {}", path,
                          cluster::kMaxRuleContent, text->size()),
              "leave out files that the skill does not need");
}

// What is to be signed; empty for --withdraw. A policy or a file of definitions must be a JSON object.
Result<std::string> rule_content(const ParsedCommand& command, const cluster::SignedRule& rule) {
  if (command.has("withdraw") == command.has("file"))
    return fail(Code::invalid, "--file: give the file to sign, or --withdraw",
                "for example --file /etc/warder/policies/strict.json");
  if (command.has("withdraw")) return std::string();
  const std::string path = command.value("file", "");
  if (rule.kind == "skill") return skill_content(path, rule.name);
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!file) return fail_path(errno, "read", path);
  TRY(std::string text, read_complete(file.get(), cluster::kMaxRuleContent));
  const auto policy = parse_json_file(text);
  if (policy && policy->is_object()) return text;
  return fail(Code::invalid,
              fmt::format("--file: {}: {}", path, policy ? "it is not a JSON object" : policy.error().what),
              "warder policy check finds each mistake");
}

// One more than that of the rule in the folder, or the one of --serial. Errors: invalid: not larger than the last one.
Result<int64_t> next_serial(const std::string& path, const ParsedCommand& command) {
  int64_t last = 0;
  auto text = cluster::read_trusted_file(path, cluster::kMaxRuleText);
  if (!text && text.error().code != Code::not_found) return tl::unexpected<Error>(std::move(text).error());
  if (text) {
    auto rule = cluster::read_signed_rule(*text);
    if (!rule) return tl::unexpected<Error>(std::move(rule).error().within(path));
    last = rule->serial;
  }
  if (!command.has("serial")) return last + 1;
  const std::string request = command.value("serial", "");
  int64_t serial = 0;
  const auto read = std::from_chars(request.data(), request.data() + request.size(), serial);
  if (read.ec == std::errc() && read.ptr == request.data() + request.size() && serial > last &&
      serial <= cluster::kMaxSerial)
    return serial;
  return fail(Code::invalid, fmt::format("--serial: '{}' is not a number above {}", printable(request, 32), last),
              "nodes take only a larger serial than that of the rule that they have");
}

// The name is part of a key on the bus, where dots divide words.
Result<> check_rule_name(const std::string& kind, const std::string& name) {
  if (!policies::valid_name(name) || name.ends_with('.') || name.find("..") != std::string::npos)
    return fail(Code::invalid, fmt::format("'{}' is no name for a rule", printable(name, 64)),
                "1 to 64 of a-z, 0-9, '_', '.' and '-', without a dot at an end or two together");
  if (kind == "policy" && name == "tenants")
    return fail(Code::invalid, "'tenants' is no name of a policy",
                "tenants.json, which says who has which policy, is each machine's own");
  if (kind == "skill" && !skills::is_slug(name))
    return fail(Code::invalid, fmt::format("'{}' is no name of a skill's folder", name),
                "use lower case letters, digits and single hyphens, as in fleet-report");
  return {};
}

}  // namespace

Result<int> sign_cluster_rule(const ParsedCommand& command) {
  cluster::SignedRule rule;
  if (command.has("catalog") && command.has("skill"))
    return fail(Code::invalid, "--skill: a rule has a skill or tool definitions, not both",
                "leave out one of the flags");
  rule.kind = command.has("catalog") ? "catalog" : command.has("skill") ? "skill" : "policy";
  rule.name = command.words.front();
  CHECKED(check_rule_name(rule.kind, rule.name));
  TRY(rule.content, rule_content(command, rule));
  TRY(ClusterFolder folder, ClusterFolder::open_to_change(command));
  TRY(const cluster::TrustRecord record, folder.read_trust());
  TRY(const cluster::PrivateKey authority, folder.load_authority(record));
  const std::string path = folder.file(rule.kind + "-" + rule.name + ".rule");
  TRY(rule.serial, next_serial(path, command));
  rule.cluster = record.cluster;
  TRY(const std::string text, cluster::sign_rule(rule, authority));
  CHECKED(cluster::write_whole_file(path, text, 0644, Existing::replace));
  if (command.json) {
    print_json({{rule.kind, rule.name}, {"serial", rule.serial}, {"withdrawn", rule.content.empty()}, {"file", path}});
    return 0;
  }
  cli::print_text(stdout, fmt::format("{}: {} with the serial {}, in {}{}\n", rule.name,
                                      rule.content.empty() ? "withdrawn" : "signed", rule.serial, path,
                                      rule.serial > 1 ? ", in place of an older rule" : ""));
  return 0;
}
const ProgramOfCommand kSignClusterRule{"cluster sign", sign_cluster_rule};

}  // namespace admin
