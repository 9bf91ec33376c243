// Join request: the public keys of a node, as one line that a person carries to the machine of the authority:
//   warder-join:BASE64.SIGNATURE              of a new node, signed by its key: it has the key
//   warder-join:BASE64.SIGNATURE.SIGNATURE    of a node that changes its key; the second one is by the old key
// BASE64 is canonical JSON:
// {"v":1,"cluster":"c1","node":"n2","key":"ed25519:...","nats":"U...","replaces":"ed25519:..."} The line has no secret.
// Source: `warder cluster join` and `rotate`. Used by: `warder cluster add`. Errors: invalid; denied: a signature does
// not fit.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "supervisor/cluster/trust/node_key.h"

namespace cluster {

struct JoinRequest {
  std::string cluster, node;
  PublicKey key;
  std::string nats;                   // nkey.h
  std::optional<PublicKey> replaces;  // the old key of the node
  bool operator==(const JoinRequest&) const = default;
};

// `key` of the request is set to that of `key`, `replaces` to that of `old` (nullptr: a new node).
Result<std::string> make_join_request(JoinRequest request, const PrivateKey& key, const PrivateKey* old);
Result<JoinRequest> read_join_request(std::string_view line);

}  // namespace cluster
