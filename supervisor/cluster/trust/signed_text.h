// Signed text: the form of envelopes between nodes and of rules of authorities:
//   header    one line of JSON in canonical form: members in one order, no blanks, no other escapes than needed
//   signature one line, 88 characters of base64: Ed25519 over the purpose (node_key.h) and the header
//   body      bytes; the header has their number and their SHA-256
// Canonical: a reader makes the header again of the values that it has read, and refuses a line that differs. So no
// member is unknown, missing, of another type, or there twice, and two readers cannot read it differently.
// Used by: envelope.h, signed_rule.h. Errors: invalid; exhausted: larger than the bound.
#pragma once
#include <string>
#include <string_view>

#include "supervisor/base/json/json_fwd.h"
#include "supervisor/cluster/trust/node_key.h"

namespace cluster {

// Parts of a text, which must outlive them.
struct SignedText {
  std::string_view header;  // without its newline
  Signature signature{};
  std::string_view body;
};

// Splits the text; no signature is checked.
Result<SignedText> split_signed(std::string_view text, size_t max_header, size_t max_body);
std::string join_signed(std::string_view header, const Signature& signature, std::string_view body);

// Reads a header or another line of canonical JSON: an object, nested at most four levels deep.
Result<Json> parse_canonical(std::string_view line);

// A node or a cluster: 1 to 32 of a-z, 0-9 and '-', not beginning with '-'.
bool is_cluster_word(std::string_view name);
// A kind of message or rule: 1 to 32 of a-z, 0-9 and '_', beginning with a letter.
bool is_kind_word(std::string_view kind);
// `digits` hexadecimal digits in small letters.
bool is_hex(std::string_view text, size_t digits);

}  // namespace cluster
