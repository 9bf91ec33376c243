#include "supervisor/cluster/trust/own_keys.h"

namespace cluster {
namespace {

// The first of both files for whose key `fits` holds. A missing FILE.next is no error.
template <class Fits>
Result<PrivateKey> load_fitting(const std::string& path, Fits fits, const char* owner) {
  auto first = PrivateKey::load(path);
  if (first && fits(first->public_key())) return first;
  auto next = PrivateKey::load(path + kNextSuffix);
  if (next && fits(next->public_key())) return next;
  if (!first && first.error().code != Code::not_found) return first;
  if (!next && next.error().code != Code::not_found) return next;
  if (!first && !next) return first;
  return fail(Code::denied, path + ": the trust record names another key for " + owner,
              "get the newest trust record, or have this key added: warder cluster add");
}

}  // namespace

Result<PrivateKey> load_own_key(const std::string& path, const TrustedNode& node) {
  return load_fitting(
      path, [&](const PublicKey& key) { return key == node.key; }, "this node");
}

Result<PrivateKey> load_authority_key(const std::string& path, const TrustRecord& record) {
  return load_fitting(
      path, [&](const PublicKey& key) { return record.has_authority(key); }, "the authority");
}

}  // namespace cluster
