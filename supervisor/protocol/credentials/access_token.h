// Access token: the secret by which a client without peer credentials, over TCP, says which token of the configuration
// it has: "wrd_" and 48 characters of base64url. They hold 32 random bytes, and 4 bytes of their hash, which a mistyped
// or cut token does not have. So people and programs can tell "mistyped" from "unknown".
//
// Stored is only its hash, "blake2b:" and 64 digits: BLAKE2b of the whole text, without a salt and not slowed. A slow,
// salted hash protects secrets that people choose, of which an attacker can try likely ones. Nobody can try 2^256.
//
// Source: `warder token add` makes them. Used by: token_table.h, supervisor/programs/cli/tokens/. Errors: invalid,
// saying what is wrong with the form; they never contain the text.
#pragma once
#include <string>
#include <string_view>

#include "supervisor/base/result.h"

namespace credentials {

inline constexpr std::string_view kTokenPrefix = "wrd_";

std::string new_access_token();
Result<> check_access_token(std::string_view text);
// "blake2b:0123..." of any text.
std::string hash_of_token(std::string_view text);
bool is_token_hash(std::string_view text);

}  // namespace credentials
