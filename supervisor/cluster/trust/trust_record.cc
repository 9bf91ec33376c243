#include "supervisor/cluster/trust/trust_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "policies/names.h"
#include "supervisor/base/json/fields.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/cluster/trust/nkey.h"
#include "supervisor/cluster/trust/signed_text.h"

namespace cluster {
namespace {

constexpr char kTrustKind[] = "trust";

std::string introduction_bytes(const std::string& cluster, const PublicKey& key) { return cluster + "\n" + key.text(); }

std::string trust_content(const TrustRecord& record) {
  Json authorities = Json::array(), introductions = Json::array(), nodes = Json::array();
  for (const auto& key : record.authorities) authorities.push_back(key.text());
  for (const auto& introduction : record.introductions)
    introductions.push_back({{"key", introduction.key.text()},
                             {"by", introduction.by.text()},
                             {"signature", text_of(introduction.signature)}});
  for (const auto& node : record.nodes)
    nodes.push_back({{"name", node.name},
                     {"key", node.key.text()},
                     {"nats", node.nats},
                     {"may_act_for", node.accounts ? Json(*node.accounts) : Json("all")}});
  return dump_json({{"authorities", authorities}, {"introductions", introductions}, {"nodes", nodes}});
}

Result<PublicKey> read_key_member(Fields& in, std::string_view name) {
  TRY(const std::string text, in.string(name, 64));
  auto key = PublicKey::parse(text);
  if (!key) return tl::unexpected<Error>(std::move(key).error().within(in.path_of(name)));
  return key;
}

// The elements of a list with a bounded length.
Result<const Json*> read_list(Fields& in, std::string_view name, size_t max) {
  const Json* list = in.find(name);
  if (!list || !list->is_array()) return fail(Code::invalid, in.path_of(name) + ": missing, or not a list");
  if (list->size() > max)
    return fail(Code::exhausted, fmt::format("{}: has {} entries, more than {}", in.path_of(name), list->size(), max));
  return list;
}

Result<std::optional<std::vector<std::string>>> read_accounts(Fields& in) {
  std::optional<std::vector<std::string>> accounts;
  const Json* value = in.find("may_act_for");
  if (value && *value == "all") return accounts;
  TRY(const Json* list, read_list(in, "may_act_for", kMaxAccounts));
  accounts.emplace();
  for (const auto& item : *list) {
    if (!item.is_string())
      return fail(Code::invalid, in.path_of("may_act_for") + ": not \"all\" or a list of accounts");
    accounts->push_back(item.get<std::string>());
  }
  return accounts;
}

Result<TrustedNode> read_node(const Json& value, const std::string& path) {
  Fields in(value, path);
  TrustedNode node;
  TRY(node.name, in.string("name", 32));
  TRY(node.key, read_key_member(in, "key"));
  TRY(node.nats, in.string("nats", 64));
  TRY(node.accounts, read_accounts(in));
  CHECKED(in.done());
  return node;
}

Result<Introduction> read_introduction(const Json& value, const std::string& path) {
  Fields in(value, path);
  Introduction introduction;
  TRY(introduction.key, read_key_member(in, "key"));
  TRY(introduction.by, read_key_member(in, "by"));
  TRY(const std::string signature, in.string("signature", 88));
  TRY(introduction.signature, parse_signature(signature));
  CHECKED(in.done());
  return introduction;
}

// Names that are allowed, in order, each once.
Result<> check_accounts(const TrustedNode& node, const std::string& path) {
  if (!node.accounts) return {};
  for (size_t i = 0; i < node.accounts->size(); i++) {
    const auto& account = (*node.accounts)[i];
    if (!policies::valid_name(account))
      return fail(Code::invalid, fmt::format("{}.may_act_for[{}]: no name of an account", path, i),
                  "1 to 64 of a-z, 0-9, '_', '.' and '-'");
    if (i > 0 && (*node.accounts)[i - 1] >= account)
      return fail(Code::invalid, fmt::format("{}.may_act_for: '{}' is out of order or there twice", path, account));
  }
  return {};
}

Result<> check_nodes(const std::vector<TrustedNode>& nodes) {
  if (nodes.size() > kMaxTrustedNodes)
    return fail(Code::exhausted, fmt::format("nodes: {} are more than {}", nodes.size(), kMaxTrustedNodes));
  std::set<PublicKey> keys;
  std::set<std::string> nats;
  for (size_t i = 0; i < nodes.size(); i++) {
    const auto& node = nodes[i];
    const std::string path = fmt::format("nodes[{}]", i);
    if (!is_cluster_word(node.name))
      return fail(Code::invalid, path + ".name: not 1 to 32 of a-z, 0-9 and '-', not beginning with '-'");
    if (i > 0 && nodes[i - 1].name == node.name)
      return fail(Code::invalid, fmt::format("{}: two nodes have the name '{}'", path, node.name),
                  "choose another name for the new node, or remove the old one: warder cluster remove");
    if (i > 0 && nodes[i - 1].name > node.name) return fail(Code::invalid, path + ": the nodes are not in order");
    CHECKED(parse_nkey_public(node.nats));
    if (!keys.insert(node.key).second || !nats.insert(node.nats).second)
      return fail(Code::invalid, fmt::format("{}: the node '{}' has a key of another node", path, node.name),
                  "make keys for each node: warder cluster join");
    CHECKED(check_accounts(node, path));
  }
  return {};
}

Result<> check_record(const TrustRecord& record) {
  if (record.authorities.empty() || record.authorities.size() > kMaxAuthorities)
    return fail(Code::invalid, fmt::format("authorities: not 1 to {}", kMaxAuthorities));
  for (size_t i = 1; i < record.authorities.size(); i++)
    if (record.authorities[i - 1] >= record.authorities[i])
      return fail(Code::invalid, "authorities: a key is out of order or there twice");
  if (record.introductions.size() > kMaxIntroductions)
    return fail(Code::exhausted, fmt::format("introductions: more than {}", kMaxIntroductions));
  return check_nodes(record.nodes);
}

// Reads the content and checks that the record's own authority signed it.
Result<TrustRecord> read_record(std::string_view text) {
  TRY(const SignedRule rule, read_signed_rule(text));
  if (rule.kind != kTrustKind || rule.name != rule.cluster)
    return fail(Code::invalid, "kind: this rule is no trust record");
  TRY(const Json content, parse_canonical(rule.content));
  Fields in(content, "");
  TrustRecord record;
  record.cluster = rule.cluster;
  record.serial = rule.serial;
  record.by = rule.by;
  TRY(const Json* authorities, read_list(in, "authorities", kMaxAuthorities));
  for (const auto& item : *authorities) {
    TRY(const PublicKey key, PublicKey::parse(item.is_string() ? item.get<std::string>() : ""));
    record.authorities.push_back(key);
  }
  TRY(const Json* introductions, read_list(in, "introductions", kMaxIntroductions));
  for (size_t i = 0; i < introductions->size(); i++) {
    TRY(const Introduction introduction, read_introduction((*introductions)[i], fmt::format("introductions[{}]", i)));
    record.introductions.push_back(introduction);
  }
  TRY(const Json* nodes, read_list(in, "nodes", kMaxTrustedNodes));
  for (size_t i = 0; i < nodes->size(); i++) {
    TRY(TrustedNode node, read_node((*nodes)[i], fmt::format("nodes[{}]", i)));
    record.nodes.push_back(std::move(node));
  }
  CHECKED(in.done());
  CHECKED(check_record(record));
  if (trust_content(record) != rule.content) return fail(Code::invalid, "its content is not in canonical form");
  if (!record.has_authority(record.by))
    return fail(Code::denied, "by: the record is signed by a key that it does not name as authority");
  return record;
}

// The authorities of `last`, and those that they introduced, directly or one after another.
std::set<PublicKey> known_authorities(const TrustRecord& next, const TrustRecord& last) {
  std::set<PublicKey> keys(last.authorities.begin(), last.authorities.end());
  for (bool grows = true; grows;) {
    grows = false;
    for (const auto& introduction : next.introductions) {
      if (!keys.contains(introduction.by) || keys.contains(introduction.key)) continue;
      if (!introduction.by.verifies(kIntroductionPurpose, introduction_bytes(last.cluster, introduction.key),
                                    introduction.signature))
        continue;
      keys.insert(introduction.key);
      grows = true;
    }
  }
  return keys;
}

}  // namespace

bool TrustedNode::may_act_for(std::string_view account) const {
  return !accounts || std::binary_search(accounts->begin(), accounts->end(), account);
}

const TrustedNode* TrustRecord::find(std::string_view node) const {
  const auto it = std::find_if(nodes.begin(), nodes.end(), [node](const auto& item) { return item.name == node; });
  return it == nodes.end() ? nullptr : &*it;
}

bool TrustRecord::has_authority(const PublicKey& key) const {
  return std::find(authorities.begin(), authorities.end(), key) != authorities.end();
}

Result<TrustRecord> read_trust_anchor(std::string_view text) { return read_record(text); }

Result<TrustRecord> read_next_trust(std::string_view text, const TrustRecord& last) {
  TRY(TrustRecord next, read_record(text));
  if (next.cluster != last.cluster)
    return fail(Code::denied, fmt::format("cluster: '{}' is not this node's cluster '{}'", next.cluster, last.cluster));
  if (!known_authorities(next, last).contains(next.by))
    return fail(Code::denied, fmt::format("by: {} is no authority that this node knows", next.by.text()),
                "if the administrator made a new authority, copy its trust record to this node's folder as root");
  if (next.serial <= last.serial)
    return fail(Code::denied,
                fmt::format("serial: {} is not newer than {}, which this node has", next.serial, last.serial),
                "sign a record with a larger serial; old records are never taken back");
  return next;
}

Result<std::string> sign_trust(TrustRecord record, const PrivateKey& authority) {
  std::sort(record.authorities.begin(), record.authorities.end());
  std::sort(record.nodes.begin(), record.nodes.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  for (auto& node : record.nodes) {
    if (!node.accounts) continue;
    std::sort(node.accounts->begin(), node.accounts->end());
    node.accounts->erase(std::unique(node.accounts->begin(), node.accounts->end()), node.accounts->end());
  }
  CHECKED(check_record(record));
  if (!record.has_authority(authority.public_key()))
    return fail(Code::denied, "the key is no authority of this cluster", "use the authority key that the record names");
  SignedRule rule;
  rule.kind = kTrustKind;
  rule.cluster = rule.name = record.cluster;
  rule.serial = record.serial;
  rule.content = trust_content(record);
  return sign_rule(std::move(rule), authority);
}

Introduction introduce(const std::string& cluster, const PublicKey& key, const PrivateKey& by) {
  return {key, by.public_key(), by.sign(kIntroductionPurpose, introduction_bytes(cluster, key))};
}

}  // namespace cluster
