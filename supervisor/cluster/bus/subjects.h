// Subjects and keys on the bus: what may stand in them, and how the names of tenants are written in them.
// A subject is a list of tokens, "w1.node.n2"; a token is one or more of A-Z a-z 0-9 _ -. Keys of buckets follow the
// same rules. Subjects of the server's own interfaces ("$JS.API...") are no subjects by these rules: nobody can be made
// to publish to them. Source: settings, and reply subjects that other machines chose. Used by: every Bus. Errors:
// invalid, with the subject.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "supervisor/base/result.h"

namespace cluster {

constexpr size_t kMaxSubject = 255;    // bytes
constexpr size_t kMaxBucketName = 64;  // bytes
constexpr size_t kMaxNameToken = 66;   // bytes that name_token() returns at most

// A subject to publish to, or the key of a value.
Result<> check_subject(std::string_view subject);
// A subject to subscribe to: a token may be "*" (any one token), the last one may be ">" (one or more tokens).
Result<> check_filter(std::string_view filter);
// A bucket's name, or a queue group's: one token of at most 64 bytes.
Result<> check_bucket_name(std::string_view name);
// Whether a message to `subject` comes to a subscription of `filter`. Both are valid.
bool matches(std::string_view filter, std::string_view subject);

// Any name as one token. Different names give different tokens: letters, digits and '-' stand for themselves, each
// other byte becomes "_XX", an empty name "_". If that is longer than 64 bytes, the token is "_H" and the name's
// SHA-256.
std::string name_token(std::string_view name);
// The name that a token stands for; nullopt: it is a hash, or no token of name_token().
std::optional<std::string> name_in_token(std::string_view token);
// The key of a tenant: "acme.reports", "acme._" for the account's own workspace (an empty name).
std::string tenant_key(std::string_view account, std::string_view workspace);

}  // namespace cluster
