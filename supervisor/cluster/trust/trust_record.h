// TrustRecord: the nodes of a cluster, the accounts that each node may act for, and the authorities that sign rules. A
// signed rule of kind "trust" (signed_rule.h). Its content is one line of canonical JSON:
//   {"authorities":["ed25519:..."],
//    "introductions":[{"key":"ed25519:...","by":"ed25519:...","signature":"..."}],
//    "nodes":[{"name":"n1","key":"ed25519:...","nats":"U...","may_act_for":"all"},
//             {"name":"n2",...,"may_act_for":["acme","web"]}]}
// Nodes and accounts are in alphabetical order, each once. A key belongs to one node only.
//
// A new record must be signed by an authority of the last accepted record, have a larger serial and be of the same
// cluster. An introduction lets an authority be replaced: the old authority has signed the key of the new one. So a
// node that was away during the change accepts the first record of the new authority that it sees.
// Source: `warder cluster init`, `add`, `remove`, `rotate`. Used by: envelope_checker.h, rule_store.h. Errors: invalid;
// denied: an unknown authority, or an old serial.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/cluster/trust/signed_rule.h"

namespace cluster {

constexpr size_t kMaxTrustedNodes = 1000, kMaxAuthorities = 8, kMaxIntroductions = 16, kMaxAccounts = 1000;

struct TrustedNode {
  std::string name;
  PublicKey key;
  std::string nats;  // its public NATS key, nkey.h
  // The accounts that the node may act for at other nodes. nullopt: all.
  std::optional<std::vector<std::string>> accounts;

  bool may_act_for(std::string_view account) const;
  bool operator==(const TrustedNode&) const = default;
};

struct Introduction {
  PublicKey key, by;
  Signature signature{};
  bool operator==(const Introduction&) const = default;
};

struct TrustRecord {
  std::string cluster;
  int64_t serial = 0;
  PublicKey by;  // the authority that signed it
  std::vector<PublicKey> authorities;
  std::vector<Introduction> introductions;
  std::vector<TrustedNode> nodes;

  const TrustedNode* find(std::string_view node) const;  // nullptr: it is not in the record
  bool has_authority(const PublicKey& key) const;
};

// A record as the first one that this node knows: its file is trusted, because root wrote it. It must be signed by an
// authority that it names.
Result<TrustRecord> read_trust_anchor(std::string_view text);
// A record from anywhere, to follow `last`. A record with the same serial is refused, too.
Result<TrustRecord> read_next_trust(std::string_view text, const TrustRecord& last);

// The record as text, signed. Sorts nodes and accounts. Errors: invalid, naming the member: two nodes with one name,
// one key for two nodes, a wrong name.
Result<std::string> sign_trust(TrustRecord record, const PrivateKey& authority);
Introduction introduce(const std::string& cluster, const PublicKey& key, const PrivateKey& by);

}  // namespace cluster
