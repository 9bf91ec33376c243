#include "supervisor/programs/cli/servers/call_advice.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "policies/call_rules.h"
#include "policies/policy_parts.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/programs/cli/admin/policies/policy_documents.h"
#include "supervisor/programs/cli/indented_json.h"
#include "supervisor/programs/cli/servers/drop_ins.h"
#include "supervisor/programs/cli/servers/running_daemon.h"

namespace admin {
namespace {

std::string rule_name(const std::string& server) { return "server-" + server; }

// The folders of --policies, else those of the configuration; as the daemon writes paths.
std::vector<std::string> own_folders(const ParsedCommand& command) {
  const ServerDropIns files = ServerDropIns::read(command);
  std::vector<std::string> folders = command.values("policies");
  if (folders.empty()) folders = files.options().policies;
  for (auto& folder : folders) {
    folder = configuration::absolute_path(folder, files.invocation());
    while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
  }
  return folders;
}

// What a daemon on a bus reads is true for it, whatever this configuration says.
std::vector<std::string> folders_to_read(const ParsedCommand& command) {
  const auto daemons = RunningDaemon::find(command).files_in_force();
  return daemons && !command.has("policies") ? daemons->policies : own_folders(command);
}

// Root writes no file into a folder that only the daemon names: an attacker may control the daemon. An ordinary user's
// daemon has the rights of that user, so its word is enough.
Result<std::vector<std::string>> folders_to_write(const ParsedCommand& command) {
  const RunningDaemon daemon = RunningDaemon::find(command);
  if (daemon.files_in_force() && !command.has("policies") && ::geteuid() != 0) return daemon.files_in_force()->policies;
  auto folders = own_folders(command);
  CHECKED(daemon.expect_same_policies(folders));
  return folders;
}

Result<policies::Store> load_from(const ParsedCommand& command, const std::vector<std::string>& folders) {
  ParsedCommand more = command;
  std::erase_if(more.flags, [](const auto& flag) { return flag.first == "policies"; });
  for (const auto& folder : folders) more.flags.emplace_back("policies", folder);
  return load_policies(more);
}

// The policies that tenants have.
Result<std::vector<std::string>> policies_in_use(const policies::Store& store, const ParsedCommand& command) {
  std::vector<std::string> named = command.values("policy");
  std::set<std::string> it(named.begin(), named.end());
  if (named.empty()) {
    TRY(const auto tenants, documents_of(store.folders(), "tenants"));
    if (tenants.empty()) {
      it.insert(policies::name_of(*store.standard()));
    } else {
      for (const Json& rule : member(tenants.front().value, "rules")) it.insert(text(rule, "policy"));
    }
  }
  for (const auto& name : it)
    if (!store.find(name))
      return fail(Code::not_found, "no policy is called '" + name + "'", "warder policy check lists them");
  return std::vector<std::string>(it.begin(), it.end());
}

Result<CallAdvice> advice_of(const policies::Store& store, const std::string& name, const std::string& server,
                             const std::vector<std::string>& tools) {
  CallAdvice advice;
  advice.policy = name;
  const auto& calls = policies::calls_of(*store.find(name));
  for (const auto& tool : tools) {
    WorkMeter meter = bounded_work();
    TRY(const auto decision, calls.decide(server, tool, Json::object(), meter));
    if (decision.verdict == policies::Verdict::allow) {
      advice.allowed++;
      continue;
    }
    (decision.verdict == policies::Verdict::ask ? advice.requested : advice.refused)++;
    if (advice.decides.empty()) {
      advice.decides = decision.name();
      TRY(const auto documents, documents_of(store.folders(), name));
      advice.file = origin_of(documents, decision.rule ? "calls.rules" : "calls.otherwise");
    }
  }
  return advice;
}

bool decides_so(const CallAdvice& advice, const std::string& verdict) {
  if (verdict == "allow") return advice.requested + advice.refused == 0;
  return verdict == "ask" ? advice.allowed + advice.refused == 0 : advice.allowed + advice.requested == 0;
}

// `rules` without the rule of that name.
Json without_rule(const Json& rules, const std::string& name) {
  Json other_rules = Json::array();
  for (const Json& rule : rules)
    if (text(rule, "name") != name) other_rules.push_back(rule);
  return other_rules;
}

// Mode and group stay those of a file that exists.
Result<> write_policy(const std::string& file, const std::string& text) {
  struct stat status {};
  const bool exists = ::stat(file.c_str(), &status) == 0;
  const bool keeps_group = exists && ::geteuid() == 0;
  return replace_text_file(file, text, exists ? status.st_mode & 0777 : 0644,
                           keeps_group ? std::optional<gid_t>(status.st_gid) : std::nullopt);
}

// Reads the policies again; if they have a mistake now, undoes the writing.
Result<> check_written(const ParsedCommand& command, const policies::Store& store,
                       const std::vector<WrittenRule>& written) {
  if (auto retry = load_from(command, store.folders()); !retry) {
    CHECKED(undo_call_rule(written));
    return tl::unexpected<Error>(std::move(retry).error().within("the rule was not written"));
  }
  return {};
}

// The policies whose own file in the last folder has a rule of that name.
Result<std::vector<PolicyDocument>> documents_with_rule(const policies::Store& store, const std::string& rule) {
  std::vector<PolicyDocument> policy_documents;
  for (const auto& name : store.names()) {
    TRY(const auto documents, documents_of(store.folders(), name));
    if (documents.empty() || documents.front().file != store.folders().back() + "/" + name + ".json") continue;
    const Json& rules = member(member(documents.front().value, "calls"), "rules");
    if (rules.is_array() && without_rule(rules, rule).size() != rules.size())
      policy_documents.push_back(documents.front());
  }
  return policy_documents;
}

// The shipped file that a policy of the last folder hides, if the policy differs from it in no more than what
// write_call_rule() adds to a copy: the inherited rules written out. Empty: another policy.
Result<std::string> copied_from(const policies::Store& store, const std::string& name, const Json& policy) {
  const std::vector<std::string> shipped_folders(store.folders().begin(), store.folders().end() - 1);
  TRY(const auto documents, documents_of(shipped_folders, name));
  if (documents.empty()) return std::string();
  Json copy = documents.front().value;
  if (!copy.contains("calls")) copy["calls"] = Json::object();
  copy["calls"]["rules"] = without_rule(member(member(merged(documents), "calls"), "rules"), {});
  return copy == policy ? documents.front().file : std::string();
}

}  // namespace

Result<std::vector<CallAdvice>> advice_for(const ParsedCommand& command, const std::string& server,
                                           const std::vector<std::string>& tools) {
  TRY(const policies::Store store, load_from(command, folders_to_read(command)));
  TRY(const auto names, policies_in_use(store, command));
  std::vector<CallAdvice> all;
  for (const auto& name : names) {
    TRY(CallAdvice advice, advice_of(store, name, server, tools));
    all.push_back(std::move(advice));
  }
  return all;
}

Result<> undo_call_rule(const std::vector<WrittenRule>& written) {
  for (const auto& item : written) {
    if (item.before) {
      CHECKED(write_policy(item.file, *item.before));
    } else if (::unlink(item.file.c_str()) < 0 && errno != ENOENT) {
      return fail_errno(errno, "remove " + item.file);
    }
  }
  return {};
}

Json call_rule(const std::string& server, const std::string& verdict) {
  return {{"name", rule_name(server)}, {"tools", {server + ".*"}}, {"verdict", verdict}};
}

Result<> check_rules_writable(const ParsedCommand& command) {
  CHECKED(folders_to_write(command));
  return {};
}

Result<> check_rules_removable(const ParsedCommand& command, const std::string& server) {
  const auto store = load_from(command, folders_to_read(command));
  if (!store) return {};
  TRY(const auto documents, documents_with_rule(*store, rule_name(server)));
  return documents.empty() ? Result<>{} : check_rules_writable(command);
}

Result<std::vector<WrittenRule>> write_call_rule(const ParsedCommand& command, const std::string& server,
                                                 const std::vector<std::string>& tools, const std::string& verdict) {
  TRY(const auto folders, folders_to_write(command));
  TRY(const policies::Store store, load_from(command, folders));
  TRY(const auto names, policies_in_use(store, command));
  const std::string own = store.folders().back();
  std::vector<WrittenRule> written;
  std::vector<std::pair<std::string, std::vector<PolicyDocument>>> wanting;  // read before the first file is written
  for (const auto& name : names) {
    TRY(const CallAdvice advice, advice_of(store, name, server, tools));
    if (!tools.empty() && decides_so(advice, verdict)) continue;
    TRY(auto documents, documents_of(store.folders(), name));
    if (documents.empty()) return fail(Code::not_found, "the policy " + name + " has no file");
    wanting.emplace_back(name, std::move(documents));
  }
  for (const auto& [name, documents] : wanting) {
    const PolicyDocument& first = documents.front();
    WrittenRule rule;
    rule.file = own + "/" + name + ".json";
    if (first.file == rule.file) {
      rule.before = indented_json(first.value);
    } else {
      rule.hides = first.file;
    }
    Json changed = first.value;
    // A list replaces that of the policy that this one extends, so the inherited rules are written, too.
    Json rules = without_rule(member(member(merged(documents), "calls"), "rules"), rule_name(server));
    rules.insert(rules.begin(), call_rule(server, verdict));
    if (!changed.contains("calls")) changed["calls"] = Json::object();
    changed["calls"]["rules"] = std::move(rules);
    if (auto done = write_policy(rule.file, indented_json(changed)); !done) {
      CHECKED(undo_call_rule(written));
      return tl::unexpected<Error>(std::move(done).error());
    }
    written.push_back(std::move(rule));
  }
  CHECKED(check_written(command, store, written));
  return written;
}

Result<std::vector<RemovedRule>> remove_call_rule(const ParsedCommand& command, const std::string& server) {
  TRY(const auto folders, folders_to_write(command));
  TRY(const policies::Store store, load_from(command, folders));
  std::vector<WrittenRule> written;
  std::vector<RemovedRule> removed;
  TRY(const auto documents, documents_with_rule(store, rule_name(server)));
  for (const auto& document : documents) {
    WrittenRule rule{document.file, indented_json(document.value), {}};
    Json changed = document.value;
    changed["calls"]["rules"] = without_rule(changed["calls"]["rules"], rule_name(server));
    const std::string name = std::filesystem::path(rule.file).stem();
    auto visible = copied_from(store, name, changed);
    Result<> done{};
    if (!visible) {
      done = tl::unexpected<Error>(std::move(visible).error());
    } else if (visible->empty()) {
      done = write_policy(rule.file, indented_json(changed));
    } else if (::unlink(rule.file.c_str()) < 0) {
      done = fail_errno(errno, "remove " + rule.file);
    }
    if (!done) {
      CHECKED(undo_call_rule(written));
      return tl::unexpected<Error>(std::move(done).error());
    }
    removed.push_back({rule.file, *std::move(visible)});
    written.push_back(std::move(rule));
  }
  CHECKED(check_written(command, store, written));
  return removed;
}

}  // namespace admin
