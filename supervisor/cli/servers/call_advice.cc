#include "supervisor/cli/servers/call_advice.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "supervisor/base/json_value.h"
#include "supervisor/cli/admin/policy_documents.h"
#include "supervisor/cli/servers/drop_ins.h"

namespace admin {
namespace {

std::string rule_name(const std::string& server) { return "server-" + server; }

// From the folders of --policies, else from those of the daemon's configuration.
Result<policies::Store> load_daemon_policies(const Given& given) {
  if (given.has("policies")) return load_policies(given);
  Given more = given;
  const ServerDropIns files = ServerDropIns::read(given);
  for (const auto& folder : files.options().policies) more.flags.emplace_back("policies", folder);
  return load_policies(more);
}

// The policies that tenants have.
Result<std::vector<std::string>> policies_in_use(const policies::Store& store, const Given& given) {
  std::vector<std::string> named = given.values("policy");
  std::set<std::string> found(named.begin(), named.end());
  if (named.empty()) {
    const auto tenants = documents_of(store.folders(), "tenants");
    if (tenants.empty()) {
      found.insert(store.standard()->name);
    } else {
      for (const Json& rule : member(tenants.front().value, "rules")) found.insert(text(rule, "policy"));
    }
  }
  for (const auto& name : found)
    if (!store.find(name))
      return fail(Code::not_found, "no policy is called '" + name + "'", "warder policy check lists them");
  return std::vector<std::string>(found.begin(), found.end());
}

Result<CallAdvice> advice_of(const policies::Store& store, const std::string& name, const std::string& server,
                             const std::vector<std::string>& tools) {
  CallAdvice advice;
  advice.policy = name;
  const auto& calls = store.find(name)->calls;
  for (const auto& tool : tools) {
    TRY(const auto decision, calls.decide(server, tool, Json::object()));
    if (decision.verdict == policies::Verdict::allow) {
      advice.allowed++;
      continue;
    }
    (decision.verdict == policies::Verdict::ask ? advice.asked : advice.refused)++;
    if (advice.decides.empty()) {
      advice.decides = decision.name();
      advice.file = origin_of(documents_of(store.folders(), name), decision.rule ? "calls.rules" : "calls.otherwise");
    }
  }
  return advice;
}

bool decides_so(const CallAdvice& advice, const std::string& verdict) {
  if (verdict == "allow") return advice.asked + advice.refused == 0;
  return verdict == "ask" ? advice.allowed + advice.refused == 0 : advice.allowed + advice.asked == 0;
}

// `rules` without the rule of that name.
Json without_rule(const Json& rules, const std::string& name) {
  Json others = Json::array();
  for (const Json& rule : rules)
    if (text(rule, "name") != name) others.push_back(rule);
  return others;
}

struct WrittenPolicy {
  std::string file;
  bool existed = false;
  Json before;
};

// Mode and group stay those of a file that exists.
Result<> write_policy(const std::string& file, const Json& value) {
  struct stat status {};
  const bool exists = ::stat(file.c_str(), &status) == 0;
  const bool keeps_group = exists && ::geteuid() == 0;
  return replace_text_file(file, indented(value), exists ? status.st_mode & 0777 : 0644,
                           keeps_group ? std::optional<gid_t>(status.st_gid) : std::nullopt);
}

Result<> undo(const std::vector<WrittenPolicy>& written) {
  for (const auto& one : written) {
    if (!one.existed) {
      ::unlink(one.file.c_str());
    } else {
      CHECKED(write_policy(one.file, one.before));
    }
  }
  return {};
}

// Reads the policies again; if they have a mistake now, undoes the writing.
Result<std::vector<std::string>> checked(const Given& given, const std::vector<WrittenPolicy>& written) {
  if (auto again = load_daemon_policies(given); !again) {
    CHECKED(undo(written));
    return tl::unexpected<Error>(std::move(again).error().within("the rule was not written"));
  }
  std::vector<std::string> files;
  for (const auto& one : written) files.push_back(one.file);
  return files;
}

}  // namespace

Result<std::vector<CallAdvice>> advice_for(const Given& given, const std::string& server,
                                           const std::vector<std::string>& tools) {
  TRY(const policies::Store store, load_daemon_policies(given));
  TRY(const auto names, policies_in_use(store, given));
  std::vector<CallAdvice> all;
  for (const auto& name : names) {
    TRY(CallAdvice one, advice_of(store, name, server, tools));
    all.push_back(std::move(one));
  }
  return all;
}

Json call_rule(const std::string& server, const std::string& verdict) {
  return {{"name", rule_name(server)}, {"tools", {server + ".*"}}, {"verdict", verdict}};
}

Result<std::vector<std::string>> write_call_rule(const Given& given, const std::string& server,
                                                 const std::vector<std::string>& tools, const std::string& verdict) {
  TRY(const policies::Store store, load_daemon_policies(given));
  TRY(const auto names, policies_in_use(store, given));
  const std::string own = store.folders().back();
  std::vector<WrittenPolicy> written;
  std::vector<std::string> wanting;  // found out before the first file is written
  for (const auto& name : names) {
    TRY(const CallAdvice advice, advice_of(store, name, server, tools));
    if (!tools.empty() && decides_so(advice, verdict)) continue;
    if (documents_of(store.folders(), name).empty())
      return fail(Code::not_found, "the policy " + name + " has no file");
    wanting.push_back(name);
  }
  for (const auto& name : wanting) {
    const auto documents = documents_of(store.folders(), name);
    WrittenPolicy one{own + "/" + name + ".json", documents.front().file == own + "/" + name + ".json",
                      documents.front().value};
    Json changed = one.before;
    // A list replaces that of the policy that this one extends, so the inherited rules are written, too.
    Json rules = without_rule(member(member(merged(documents), "calls"), "rules"), rule_name(server));
    rules.insert(rules.begin(), call_rule(server, verdict));
    if (!changed.contains("calls")) changed["calls"] = Json::object();
    changed["calls"]["rules"] = std::move(rules);
    if (auto done = write_policy(one.file, changed); !done) {
      CHECKED(undo(written));
      return tl::unexpected<Error>(std::move(done).error());
    }
    written.push_back(std::move(one));
  }
  return checked(given, written);
}

Result<std::vector<std::string>> remove_call_rule(const Given& given, const std::string& server) {
  TRY(const policies::Store store, load_daemon_policies(given));
  std::vector<WrittenPolicy> written;
  for (const auto& name : store.names()) {
    const auto documents = documents_of(store.folders(), name);
    const std::string file = store.folders().back() + "/" + name + ".json";
    if (documents.empty() || documents.front().file != file) continue;
    const Json& rules = member(member(documents.front().value, "calls"), "rules");
    if (!rules.is_array()) continue;
    Json others = without_rule(rules, rule_name(server));
    if (others.size() == rules.size()) continue;
    WrittenPolicy one{file, true, documents.front().value};
    Json changed = one.before;
    changed["calls"]["rules"] = std::move(others);
    if (auto done = write_policy(one.file, changed); !done) {
      CHECKED(undo(written));
      return tl::unexpected<Error>(std::move(done).error());
    }
    written.push_back(std::move(one));
  }
  return checked(given, written);
}

}  // namespace admin
