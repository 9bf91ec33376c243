// OAuthSettings: how the daemon gets tokens for one upstream server (OAuth 2.1).
// Source: the key `oauth` of a server in warderd.json. Applied by token_source.cc and login.cc.
// Errors: invalid, naming the key and the remedy: "servers.wiki.oauth.grant: ...".
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/json/json_fwd.h"
#include "supervisor/base/result.h"

namespace oauth {

struct OAuthSettings {
  // authorization_code: a person logs in by `warder servers login`. client_credentials: the daemon itself has an
  // account at the authorization server.
  enum class Grant { authorization_code, client_credentials };
  Grant grant = Grant::authorization_code;
  std::string client_id;            // empty: the daemon registers itself at each login (RFC 7591)
  std::string client_secret;        // absolute path of the file with the secret; empty: absent
  std::vector<std::string> scopes;  // to ask for; empty: those that the server names
  std::string issuer;               // the authorization server; empty: the one that the server names
  // client_id is the URL of a document about the client, which authorization servers read (client ID metadata
  // document). With an issuer, the id is one that the issuer gave, whatever it looks like.
  bool has_client_document() const { return issuer.empty() && client_id.starts_with("https://"); }
  bool operator==(const OAuthSettings&) const = default;
};

Result<OAuthSettings> read_settings(const Json& object, const std::string& path);
// A scope of RFC 6749, section 3.3: visible ASCII without '"' and '\', of at most 256 bytes.
bool is_scope(std::string_view text);

}  // namespace oauth
