// TokenTable: the tokens in force, found by their text. Source: the configuration and the systemd credential
// warder.tokens; a reload makes a new table. Used by: supervisor/protocol/streamable_http (TokenAuthenticator), the
// daemon.
//
// Timing tells nothing: a text is hashed first, and the hash is looked up. What a client learns of the time of a
// look-up is about hashes that it cannot choose, because it cannot find a text for a hash.
// No errors.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/protocol/credentials/stored_token.h"

namespace credentials {

class TokenTable {
 public:
  TokenTable() = default;
  // The first of two tokens with one hash or one name counts.
  explicit TokenTable(std::vector<StoredToken> tokens);

  // The token with this text, expired or not; nullptr: absent.
  const StoredToken* find(std::string_view text) const;
  // nullptr: no token has this name.
  const StoredToken* named(std::string_view name) const;
  const std::vector<StoredToken>& all() const { return tokens_; }
  size_t count() const { return tokens_.size(); }

 private:
  std::vector<StoredToken> tokens_;
  std::map<std::string, size_t> by_hash_;  // places in tokens_
  std::map<std::string, size_t, std::less<>> by_name_;
};

}  // namespace credentials
