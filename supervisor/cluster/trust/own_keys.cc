#include "supervisor/cluster/trust/own_keys.h"

#include "supervisor/cluster/trust/nkey.h"

namespace cluster {
namespace {

// The first of both files for which `fits` holds. A missing FILE.next is no error.
template <class Value, class Load, class Fits>
Result<Value> load_fitting(const std::string& path, Load load, Fits fits, const char* who) {
  Result<Value> first = load(path);
  if (first && fits(*first)) return first;
  Result<Value> next = load(path + kNextSuffix);
  if (next && fits(*next)) return next;
  if (!first && first.error().code != Code::not_found) return first;
  if (!next && next.error().code != Code::not_found) return next;
  if (!first && !next) return first;
  return fail(Code::denied, path + ": the trust record names another key for " + who,
              "get the newest trust record, or have this key added: warder cluster add");
}

}  // namespace

Result<PrivateKey> load_own_key(const std::string& path, const TrustedNode& node) {
  return load_fitting<PrivateKey>(
      path, PrivateKey::load, [&](const PrivateKey& key) { return key.public_key() == node.key; }, "this node");
}

Result<PrivateKey> load_authority_key(const std::string& path, const TrustRecord& record) {
  return load_fitting<PrivateKey>(
      path, PrivateKey::load, [&](const PrivateKey& key) { return record.has_authority(key.public_key()); },
      "the authority");
}

Result<std::string> load_own_nats_seed(const std::string& path, const TrustedNode& node) {
  return load_fitting<std::string>(
      path, read_nkey_seed, [&](const std::string& seed) { return nkey_public_key(seed) == node.nats; }, "this node");
}

}  // namespace cluster
