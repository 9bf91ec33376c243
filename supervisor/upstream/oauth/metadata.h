// Metadata of a protected resource and of an authorization server: read and checked. Pure functions.
// Source: JSON documents from servers, which are not trusted. Used by: discovery.cc. Errors: denied, naming the member
// and why the document is not used.
// Facts: RFC 9728 sections 2 and 3.3, RFC 8414 sections 2 and 3.3, RFC 7636 section 4.2, RFC 9207 section 3;
// draft-ietf-oauth-client-id-metadata-document; MCP 2025-11-25 and 2026-07-28, basic/authorization.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/result.h"
#include "supervisor/upstream/authorization/urls.h"

namespace oauth {

constexpr size_t kMaxMetadata = 256 << 10;  // bytes of one document
inline constexpr const char* kOfflineAccess = "offline_access";

struct ProtectedResource {
  std::string resource;                            // the value of `resource` in requests (RFC 8707)
  std::vector<std::string> authorization_servers;  // issuers, checked; one at least
  std::vector<std::string> scopes;                 // that it knows; 64 at most
};

struct AuthorizationServer {
  std::string issuer, authorization_endpoint, token_endpoint;
  std::string registration_endpoint, revocation_endpoint;  // empty: absent
  std::vector<std::string> token_auth_methods;             // how clients authenticate at the token endpoint
  std::optional<bool> has_offline_access;  // the scope of refresh tokens; nullopt: it does not list its scopes
  bool has_s256 = false;                   // PKCE with S256
  bool reads_client_documents = false;     // a client's id may be the URL of its metadata
  bool says_iss = false;                   // redirects carry `iss` (RFC 9207)
};

// `server_url`: of the MCP server. Its resource must be that URL, or a parent path at the same origin.
Result<ProtectedResource> read_protected_resource(std::string_view text, std::string_view server_url);
// Whether two texts name one issuer. RFC 8414 wants the very same text. Servers of the world differ from it by a slash
// at the end: Google's resource metadata names "https://accounts.google.com/", and the metadata there is of
// "https://accounts.google.com".
bool is_same_issuer(std::string_view named, std::string_view requested);
// The document must be of `issuer`; the result has the issuer as the document writes it. If the MCP server named it,
// and not the administrator, people and registrations go to that issuer's origin only.
enum class NamedBy { administrator, server };
Result<AuthorizationServer> read_authorization_server(std::string_view text, std::string_view issuer, PlainHttp plain,
                                                      NamedBy named_by);

}  // namespace oauth
