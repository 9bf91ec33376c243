// Names, keys and records that the tests of the cluster's trust share. Keys are derived from numbers, so that a failure
// shows the same texts again.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "supervisor/cluster/trust/nkey.h"
#include "supervisor/cluster/trust/trust_record.h"

namespace trust_test {

inline cluster::PrivateKey key_of(unsigned char number) {
  cluster::PrivateKey::Seed seed{};
  seed.fill(number);
  return cluster::PrivateKey::of_seed(seed);
}

inline cluster::TrustedNode node_of(const std::string& name, unsigned char number,
                                    std::optional<std::vector<std::string>> accounts = {}) {
  return {name, key_of(number).public_key(),
          cluster::nkey_public_text(key_of(static_cast<unsigned char>(number + 100)).public_key()),
          std::move(accounts)};
}

constexpr unsigned char kAuthority = 90;

inline cluster::TrustRecord record_of(std::vector<cluster::TrustedNode> nodes, int64_t serial = 1) {
  cluster::TrustRecord record;
  record.cluster = "c1";
  record.serial = serial;
  record.authorities = {key_of(kAuthority).public_key()};
  record.nodes = std::move(nodes);
  return record;
}

inline std::string signed_record(const cluster::TrustRecord& record, unsigned char authority = kAuthority) {
  return sign_trust(record, key_of(authority)).value();
}

}  // namespace trust_test
