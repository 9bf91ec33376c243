// NKeys: the text forms of Ed25519 keys that nats-server and its clients read. A user's public key begins with "U" and
// has 56 characters, its seed begins with "SU" and has 58.
//
// The form, as in github.com/nats-io/nkeys, strkey.go and crc16.go: base32 (RFC 4648, section 6, without padding) of a
// prefix, the 32 bytes, and CRC-16/XMODEM (polynomial 0x1021, first value 0) of all bytes before it, the low byte
// first. Prefix of a user's public key: the byte 20 << 3. Prefix of its seed: (18 << 3) | (20 << 3 >> 5), then
// (20 << 3 & 31) << 3.
//
// A node's NATS key is not its node key: a NATS client signs the bytes that the server sends, so a hostile server could
// have envelopes signed.
// Used by: the bus, `warder cluster`. Errors: invalid: the fault of a text; those of private_file.h. No error
// contains a seed.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "supervisor/base/result.h"
#include "supervisor/cluster/trust/node_key.h"

namespace cluster {

std::string nkey_public_text(const PublicKey& key);
Result<PublicKey> parse_nkey_public(std::string_view text);
// Seeds as text; the caller wipes them (sodium_memzero). White space around a seed is ignored.
std::string new_nkey_seed();
std::string nkey_seed_text(const PrivateKey::Seed& seed);
// Reads a seed's file by read_private_file() (private_file.h), and checks it.
Result<std::string> read_nkey_seed(const std::string& path);
// The text of the public key that belongs to a seed.
Result<std::string> nkey_public_key(std::string_view seed);
// The 64 bytes of the signature, for a NATS server.
Result<std::string> nkey_sign(std::string_view seed, std::string_view bytes);

uint16_t crc16_xmodem(std::string_view bytes);

}  // namespace cluster
