// StoredToken: one token as the configuration has it: its name, its hash, until when it is good, and its own rule.
//   "tokens": {"ci": {"hash": "blake2b:0123...", "expires": "2027-01-01T00:00:00Z", "tenant": "ci", "policy":
//   "strict"}}
// A rule of tenants.json that names the token decides before the own rule.
// Source: the key "tokens" of the configuration, and the systemd credential "warder.tokens", a JSON object of the same
// form as the value of "tokens". Used by: supervisor/daemon/configuration/, token_table.h,
// supervisor/programs/cli/tokens/. Errors: invalid: "tokens.ci.hash: not blake2b: and 64 hexadecimal digits".
#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policies/tenant_rules.h"
#include "supervisor/base/json/json_fwd.h"
#include "supervisor/base/result.h"

namespace credentials {

using WallTime = std::chrono::sys_seconds;  // UTC

struct StoredToken {
  std::string name;
  std::string hash;                          // hash_of_token()
  std::optional<WallTime> created, expires;  // created: for people only
  policies::TokenRule rule;                  // empty tenant and policy: the token has no own rule
  bool is_expired(WallTime now) const { return expires && now >= *expires; }
};

// `path`: of the object, for errors: "tokens.ci".
Result<StoredToken> read_token(const std::string& name, const Json& entry, const std::string& path);
// All tokens of an object of entries by name. Errors: of the first wrong entry; two tokens have one hash.
Result<std::vector<StoredToken>> read_tokens(const Json& entries, const std::string& path);
// The tokens of the credential warder.tokens in the folder `credentials`; none if there is no such file, or the folder
// is empty text.
Result<std::vector<StoredToken>> load_token_credential(const std::string& credentials);

// 1 to 48 characters of a-z, 0-9, '-', '_' and '.', not beginning with a dot.
bool is_token_name(std::string_view name);

// The time that decides whether a right has ended: rights_now_ms() (base/elapsed_clock.h).
WallTime rights_now();
// "2027-01-01T00:00:00Z", the form of RFC 3339 for UTC with whole seconds. Errors: invalid.
Result<WallTime> parse_wall_time(std::string_view text);
std::string wall_time_text(WallTime time);

}  // namespace credentials
