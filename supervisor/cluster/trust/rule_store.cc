#include "supervisor/cluster/trust/rule_store.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <set>

#include "supervisor/base/directory_stream.h"
#include "supervisor/cluster/trust/private_file.h"

namespace cluster {
namespace {

constexpr char kTrustFile[] = "/trust.record";
constexpr std::string_view kPolicyStart = "policy-", kPolicyEnd = ".rule";
constexpr size_t kMaxRuleFile = kMaxRuleContent + 2048;  // bytes

}  // namespace

Result<RuleStore> RuleStore::open(const std::string& anchor, std::string folder) {
  RuleStore store(std::move(folder));
  CHECKED(store.load_trust(anchor));
  CHECKED(store.load_policies());
  return store;
}

Result<> RuleStore::load_trust(const std::string& anchor) {
  TRY(trust_text_, read_trusted_file(anchor, kMaxRuleFile));
  auto first = read_trust_anchor(trust_text_);
  if (!first) return tl::unexpected<Error>(std::move(first).error().within(anchor));
  trust_ = *std::move(first);
  const std::string path = folder_ + kTrustFile;
  auto text = read_trusted_file(path, kMaxRuleFile);
  if (!text && text.error().code == Code::not_found) return {};
  if (!text) return tl::unexpected<Error>(std::move(text).error());
  // Root may have written a newer anchor, also of an authority that the stored record does not know.
  auto stored = read_trust_anchor(*text);
  if (stored && stored->cluster == trust_.cluster && stored->serial <= trust_.serial) return {};
  if (stored) stored = read_next_trust(*text, trust_);
  if (!stored) {
    Error error = std::move(stored).error().within(path);
    error.hint = fmt::format(
        "copy the newest trust record of the authority's machine to {}, then remove {}; without it, removed nodes "
        "might be trusted again",
        anchor, path);
    return tl::unexpected<Error>(std::move(error));
  }
  trust_ = *std::move(stored);
  trust_text_ = *std::move(text);
  return {};
}

Result<> RuleStore::load_policies() {
  const DirectoryStream entries = stream_of(Fd(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
  if (!entries) return fail_errno(errno, "open " + folder_);
  while (const dirent* entry = ::readdir(entries.get())) {
    const std::string name = entry->d_name;
    if (!name.starts_with(kPolicyStart) || !name.ends_with(kPolicyEnd)) continue;
    const std::string path = folder_ + "/" + name;
    TRY(const std::string text, read_trusted_file(path, kMaxRuleFile));
    auto rule = read_signed_rule(text);
    if (!rule) return tl::unexpected<Error>(std::move(rule).error().within(path));
    const std::string own = std::string(kPolicyStart) + rule->name + std::string(kPolicyEnd);
    if (rule->kind != "policy" || rule->cluster != trust_.cluster || own != name || !was_authority(rule->by))
      return fail(Code::denied, path + ": it is no rule of this cluster's authorities with this name",
                  "remove it, and sign the policy again");
    policies_.emplace(rule->name, *std::move(rule));
    if (policies_.size() > kMaxStoredPolicies)
      return fail(Code::exhausted, fmt::format("{}: more than {} policies", folder_, kMaxStoredPolicies));
  }
  return {};
}

// An authority of now, or one that introduced it: its rules were accepted then, and are in force until they are
// replaced.
bool RuleStore::was_authority(const PublicKey& key) const {
  std::set<PublicKey> known(trust_.authorities.begin(), trust_.authorities.end());
  for (size_t round = 0; round < trust_.introductions.size(); round++)
    for (const auto& one : trust_.introductions)
      if (known.contains(one.key)) known.insert(one.by);
  return known.contains(key);
}

const SignedRule* RuleStore::policy(const std::string& name) const {
  const auto found = policies_.find(name);
  return found == policies_.end() ? nullptr : &found->second;
}

Result<RuleStore::Accepted> RuleStore::accept(std::string_view text) {
  TRY(SignedRule rule, read_signed_rule(text));
  if (rule.kind == "trust") return accept_trust(text);
  if (rule.kind == "policy") return accept_policy(std::move(rule), text);
  return fail(Code::invalid, "kind: this node knows no rules of the kind '" + rule.kind + "'",
              "upgrade this node, if newer ones know it");
}

Result<RuleStore::Accepted> RuleStore::accept_trust(std::string_view text) {
  if (text == trust_text_) return Accepted::unchanged;
  TRY(TrustRecord next, read_next_trust(text, trust_));
  CHECKED(write_whole_file(folder_ + kTrustFile, text, 0600, Existing::replace));
  trust_ = std::move(next);
  trust_text_ = text;
  return Accepted::stored;
}

Result<RuleStore::Accepted> RuleStore::accept_policy(SignedRule rule, std::string_view text) {
  if (rule.cluster != trust_.cluster)
    return fail(Code::denied,
                fmt::format("cluster: '{}' is not this node's cluster '{}'", rule.cluster, trust_.cluster));
  if (!trust_.has_authority(rule.by))
    return fail(Code::denied,
                fmt::format("by: {} is no authority of the trust record {}", rule.by.text(), trust_.serial),
                "sign the policy with the authority's key of now");
  const auto last = policies_.find(rule.name);
  if (last != policies_.end() && rule.serial <= last->second.serial) {
    if (rule.serial == last->second.serial && rule.by == last->second.by && rule.content == last->second.content)
      return Accepted::unchanged;
    return fail(Code::denied,
                fmt::format("serial: {} of the policy '{}' is not newer than {}, which this node has", rule.serial,
                            rule.name, last->second.serial),
                "sign it with a larger serial; old rules are never taken back");
  }
  if (last == policies_.end() && policies_.size() >= kMaxStoredPolicies)
    return fail(Code::exhausted, fmt::format("this node has {} policies already", kMaxStoredPolicies));
  const std::string path = fmt::format("{}/{}{}{}", folder_, kPolicyStart, rule.name, kPolicyEnd);
  CHECKED(write_whole_file(path, text, 0600, Existing::replace));
  const std::string name = rule.name;
  policies_.insert_or_assign(name, std::move(rule));
  return Accepted::stored;
}

}  // namespace cluster
