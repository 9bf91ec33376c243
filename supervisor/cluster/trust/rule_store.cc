#include "supervisor/cluster/trust/rule_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "supervisor/base/folder.h"
#include "supervisor/cluster/trust/private_file.h"

namespace cluster {
namespace {

constexpr char kTrustFile[] = "/trust.record";
constexpr std::string_view kRuleEnd = ".rule";

bool is_kind(std::string_view kind) {
  return std::find(std::begin(kRuleKinds), std::end(kRuleKinds), kind) != std::end(kRuleKinds);
}

std::string file_of(const SignedRule& rule) { return fmt::format("{}-{}{}", rule.kind, rule.name, kRuleEnd); }

Error too_many_rules() {
  return {Code::exhausted,
          0,
          fmt::format("this node has {} rules or {} MiB of them already", kMaxStoredRules, kMaxStoredRuleBytes >> 20),
          "withdraw rules that are not needed",
          {}};
}

}  // namespace

Result<RuleStore> RuleStore::open(const std::string& anchor, std::string folder) {
  RuleStore store(std::move(folder));
  CHECKED(store.load_trust(anchor));
  CHECKED(store.load_rules());
  return store;
}

Result<> RuleStore::load_trust(const std::string& anchor) {
  TRY(trust_text_, read_trusted_file(anchor, kMaxRuleText));
  auto first = read_trust_anchor(trust_text_);
  if (!first) return tl::unexpected<Error>(std::move(first).error().within(anchor));
  trust_ = *std::move(first);
  const std::string path = folder_ + kTrustFile;
  auto text = read_trusted_file(path, kMaxRuleText);
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

Result<> RuleStore::load_rules() {
  TRY(const auto names, read_names(FolderReader::open(folder_)));
  for (const std::string& name : names) {
    if (!name.ends_with(kRuleEnd) || name.starts_with('.')) continue;
    const std::string path = folder_ + "/" + name;
    TRY(std::string text, read_trusted_file(path, kMaxRuleText));
    auto rule = read_signed_rule(text);
    if (!rule) return tl::unexpected<Error>(std::move(rule).error().within(path));
    if (!is_kind(rule->kind) || rule->cluster != trust_.cluster || file_of(*rule) != name || !was_authority(rule->by))
      return fail(Code::denied, path + ": it is no rule of this cluster's authorities with this name",
                  "remove it, and sign the rule again");
    set(*std::move(rule), std::move(text));
    if (rules_.size() > kMaxStoredRules || bytes_ > kMaxStoredRuleBytes)
      return tl::unexpected<Error>(too_many_rules().within(folder_));
  }
  return {};
}

void RuleStore::set(SignedRule rule, std::string text) {
  const RuleKey key{rule.kind, rule.name};
  if (const auto last = rules_.find(key); last != rules_.end()) bytes_ -= last->second.text.size();
  bytes_ += text.size();
  rules_.insert_or_assign(key, StoredRule{std::move(rule), std::move(text)});
}

// An authority of now, or one that introduced it: its rules were accepted then, and are in force until they are
// replaced.
bool RuleStore::was_authority(const PublicKey& key) const {
  std::set<PublicKey> keys(trust_.authorities.begin(), trust_.authorities.end());
  for (size_t round = 0; round < trust_.introductions.size(); round++)
    for (const auto& introduction : trust_.introductions)
      if (keys.contains(introduction.key)) keys.insert(introduction.by);
  return keys.contains(key);
}

const SignedRule* RuleStore::find(const RuleKey& key) const {
  const auto it = rules_.find(key);
  return it == rules_.end() ? nullptr : &it->second.rule;
}

Result<RuleStore::Accepted> RuleStore::accept(std::string_view text) {
  TRY(SignedRule rule, read_signed_rule(text));
  if (rule.kind == "trust") return accept_trust(text);
  if (is_kind(rule.kind)) return accept_rule(std::move(rule), text);
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

Result<RuleStore::Accepted> RuleStore::accept_rule(SignedRule rule, std::string_view text) {
  if (rule.cluster != trust_.cluster)
    return fail(Code::denied,
                fmt::format("cluster: '{}' is not this node's cluster '{}'", rule.cluster, trust_.cluster));
  if (!trust_.has_authority(rule.by))
    return fail(Code::denied,
                fmt::format("by: {} is no authority of the trust record {}", rule.by.text(), trust_.serial),
                "sign the rule with the authority's key of now");
  const auto last = rules_.find(RuleKey{rule.kind, rule.name});
  if (last != rules_.end() && rule.serial <= last->second.rule.serial) {
    if (text == last->second.text) return Accepted::unchanged;
    return fail(Code::denied,
                fmt::format("serial: {} of the {} '{}' is not newer than {}, which this node has", rule.serial,
                            rule.kind, rule.name, last->second.rule.serial),
                "sign it with a larger serial; old rules are never taken back");
  }
  const size_t replaced = last == rules_.end() ? 0 : last->second.text.size();
  if ((last == rules_.end() && rules_.size() >= kMaxStoredRules) ||
      bytes_ - replaced + text.size() > kMaxStoredRuleBytes)
    return tl::unexpected<Error>(too_many_rules());
  CHECKED(write_whole_file(folder_ + "/" + file_of(rule), text, 0600, Existing::replace));
  set(std::move(rule), std::string(text));
  return Accepted::stored;
}

}  // namespace cluster
