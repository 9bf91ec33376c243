// Nkey: the Ed25519 key by which a NATS server knows a client. Its texts are NATS's: a seed is "SU..." (58 characters),
// a public key "U..." (56): base32 of a prefix, the key, and a CRC-16. The seed proves the identity: it stays in its
// file. Used by: NatsBus; whoever makes the key of a new node. Errors: invalid, without the text of the seed.
#pragma once
#include <string>
#include <string_view>

#include "supervisor/base/result.h"

namespace cluster {

std::string new_nkey_seed();
// White space around the seed is ignored.
Result<std::string> nkey_public_key(std::string_view seed);
// The 64 bytes of the signature.
Result<std::string> nkey_sign(std::string_view seed, std::string_view bytes);

// The first line of a seed's file. Errors: unavailable, with the path; invalid, it is larger than 4 KiB.
Result<std::string> read_nkey_seed(const std::string& path);

}  // namespace cluster
