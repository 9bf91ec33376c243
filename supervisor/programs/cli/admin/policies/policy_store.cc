#include "supervisor/programs/cli/admin/policies/policy_store.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <grp.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "supervisor/base/folder.h"
#include "supervisor/base/user_lookup.h"
#include "supervisor/daemon/configuration/reader.h"
#include "supervisor/programs/cli/admin/policies/policy_documents.h"

namespace admin {
namespace {

constexpr char kOwn[] = "/etc/warder/policies";

Result<std::vector<gid_t>> own_groups() {
  std::vector<gid_t> groups(static_cast<size_t>(std::max(0, ::getgroups(0, nullptr))));
  if (::getgroups(static_cast<int>(groups.size()), groups.data()) < 0) return fail_errno(errno, "getgroups");
  return groups;
}

std::vector<gid_t> groups_of(const SystemUser& user) {
  int count = 0;
  (void)!::getgrouplist(user.name.c_str(), user.gid, nullptr, &count);
  std::vector<gid_t> groups(static_cast<size_t>(std::max(0, count)));
  if (::getgrouplist(user.name.c_str(), user.gid, groups.data(), &count) < 0) groups.clear();
  return groups;
}

Result<policies::Peer> find_peer(const std::string& user) {
  policies::Peer peer;
  if (user.empty()) {
    peer.uid = ::getuid();
    peer.gid = ::getgid();
    TRY(peer.groups, own_groups());
    return peer;
  }
  uid_t number = 0;
  const auto [end, error] = std::from_chars(user.data(), user.data() + user.size(), number);
  const bool numeric = error == std::errc() && end == user.data() + user.size();
  auto entry = numeric ? find_system_user(number) : find_system_user(user);
  if (!entry) return tl::unexpected<Error>(std::move(entry).error());
  if (*entry) {
    peer.uid = (*entry)->uid;
    peer.gid = (*entry)->gid;
    peer.groups = groups_of(**entry);
    return peer;
  }
  if (!numeric) return fail(Code::not_found, "there is no user '" + user + "'", "getent passwd lists them");
  peer.uid = number;
  peer.gid = static_cast<gid_t>(number);
  return peer;
}

// The rule of tenants.json that decides about the peer, the token or the subject, for example "rules[1]". Found by
// trying the first rule alone, then the first two, until they assign a tenant.
template <class Caller>
std::string deciding_rule(const Json& tenants, const Caller& caller) {
  const Json& rules = member(tenants, "rules");
  for (size_t i = 0; i < rules.size(); i++) {
    Json first = tenants;
    first["rules"] = Json::array();
    for (size_t j = 0; j <= i; j++) first["rules"].push_back(rules[j]);
    const auto parsed = policies::TenantRules::parse(first);
    if (parsed && parsed->find(caller)) return fmt::format("rules[{}]", i);
  }
  return {};
}

// The own rules of tokens are in the configuration.
std::vector<policies::TokenRule> configured_token_rules() {
  const auto invocation = configuration::invocation_of({});
  configuration::Notes notes;
  const auto document = configuration::ConfigurationDocument::read(invocation, notes.problems);
  std::vector<policies::TokenRule> rules;
  for (const auto& token : configuration::read_options(document, invocation, notes).tokens) rules.push_back(token.rule);
  return rules;
}

Result<ChosenPolicy> choose_for_token(policies::Store store, const std::string& token) {
  store.set_token_rules(configured_token_rules());
  ChosenPolicy chosen;
  TRY(const auto tenants, documents_of(store.folders(), "tenants"));
  if (!tenants.empty()) chosen.rule = deciding_rule(tenants.front().value, policies::TokenBearer{token});
  chosen.file = chosen.rule.empty() ? "" : tenants.front().file;
  if (chosen.rule.empty()) chosen.rule = "tokens." + token + " of the configuration";
  if (auto assigned = store.tenant_of(policies::TokenBearer{token})) {
    chosen.tenant = assigned->tenant;
    chosen.policy = assigned->policy;
  }
  return chosen;
}

// As a JWT names them. No rule for subjects is built in: without tenants.json none is let in.
Result<ChosenPolicy> choose_for_subject(const policies::Store& store, const policies::SubjectBearer& bearer) {
  constexpr size_t kMaxClaimBytes = 32;
  if (bearer.claim.size() > kMaxClaimBytes ||
      bearer.claim.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") != bearer.claim.npos)
    return fail(Code::invalid, "--claim: not 1 to 32 of a-z, 0-9, '_' and '-'",
                "a JWT with a claim of another form counts as one without it: leave --claim out");
  ChosenPolicy chosen;
  TRY(const auto tenants, documents_of(store.folders(), "tenants"));
  if (!tenants.empty()) {
    chosen.file = tenants.front().file;
    chosen.rule = deciding_rule(tenants.front().value, bearer);
  }
  if (chosen.rule.empty()) chosen.rule = "rules";
  if (auto assigned = store.tenant_of(bearer)) {
    chosen.tenant = assigned->tenant;
    chosen.policy = assigned->policy;
  }
  return chosen;
}

}  // namespace

std::vector<std::string> policy_folders(const ParsedCommand& command) {
  if (auto named = command.values("policies"); !named.empty()) return named;
  std::vector<std::string> folders;
  for (const char* folder : {policies::kInstalledFolder, kOwn})
    if (may_be_folder(folder)) folders.emplace_back(folder);
  return folders;
}

Result<policies::Store> load_policies(const ParsedCommand& command) {
  auto folders = policy_folders(command);
  if (folders.empty())
    return fail(Code::not_found,
                fmt::format("no policies: neither {} nor {} is a folder", policies::kInstalledFolder, kOwn),
                "name a folder with --policies");
  const auto mode = policies::mode_of(folders);
  auto store = policies::Store::load(std::move(folders), mode);
  if (!store) store.error().code = Code::internal;  // the files are wrong, not the command line
  return store;
}

Result<ChosenPolicy> choose_policy(const policies::Store& store, const ParsedCommand& command) {
  const std::string named = command.value("policy", command.words.empty() ? "" : command.words.front());
  if (!named.empty()) {
    if (auto policy = store.find(named)) return ChosenPolicy{{}, std::move(policy), {}, {}};
    return fail(Code::not_found, "no policy is called '" + named + "'",
                fmt::format("known: {}", fmt::join(store.names(), ", ")));
  }
  if (command.has("token")) return choose_for_token(store, command.value("token", ""));
  if (command.has("subject"))
    return choose_for_subject(store, {command.value("subject", ""), command.value("claim", "")});
  if (command.has("claim")) return fail(Code::invalid, "--claim without --subject", "name the subject of the JWT, too");
  TRY(policies::Peer peer, find_peer(command.value("user", "")));
  peer.unit = command.value("unit", "");
  ChosenPolicy chosen;
  TRY(const auto tenants, documents_of(store.folders(), "tenants"));
  if (!tenants.empty()) {
    chosen.file = tenants.front().file;
    chosen.rule = deciding_rule(tenants.front().value, peer);
  }
  if (auto assigned = store.tenant_of(peer)) {
    chosen.tenant = assigned->tenant;
    chosen.policy = assigned->policy;
  }
  return chosen;
}

}  // namespace admin
