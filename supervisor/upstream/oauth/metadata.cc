#include "supervisor/upstream/oauth/metadata.h"

#include <fmt/format.h>

#include <algorithm>

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_members.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/log.h"
#include "supervisor/upstream/authorization/settings.h"

namespace oauth {
namespace {

constexpr int kMetadataDepth = 8;
constexpr size_t kMaxListed = 64;

Result<Json> read_document(std::string_view text) {
  auto document = parse_json(text, kMetadataDepth);
  if (!document || !document->is_object()) return fail(Code::denied, "its metadata is not a JSON object");
  return document;
}

std::vector<std::string> texts_in(const Json& object, const char* key) {
  std::vector<std::string> all;
  const auto it = object.find(key);
  if (it == object.end() || !it->is_array()) return all;
  for (const Json& item : *it)
    if (item.is_string() && all.size() < kMaxListed) all.push_back(item.get<std::string>());
  return all;
}

Result<std::string> endpoint_in(const Json& object, const char* key, PlainHttp plain) {
  std::string url = text_member(object, key);
  if (url.empty()) return url;
  auto fits = check_endpoint(url, plain);
  if (!fits) return fail(Code::denied, fmt::format("its metadata has a wrong {}: {}", key, fits.error().what));
  return url;
}

bool flag_in(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && *it == true;
}

}  // namespace

bool is_same_issuer(std::string_view named, std::string_view requested) {
  const auto without_slash = [](std::string_view url) {
    return url.ends_with('/') ? url.substr(0, url.size() - 1) : url;
  };
  return without_slash(named) == without_slash(requested);
}

Result<ProtectedResource> read_protected_resource(std::string_view text, std::string_view server_url) {
  TRY(const Json document, read_document(text));
  ProtectedResource all;
  all.resource = text_member(document, "resource");
  const PlainHttp plain = plain_for(server_url);
  const bool fits = check_endpoint(all.resource, plain).has_value() && all.resource.find('?') == std::string::npos &&
                    is_resource_of(all.resource, server_url);
  if (!fits)
    return fail(Code::denied, fmt::format("its metadata is about another resource: '{}'", printable(all.resource, 200)),
                "a token for another resource is not asked for: correct the server's metadata, or its URL");
  for (auto& issuer : texts_in(document, "authorization_servers"))
    if (check_endpoint(issuer, plain)) all.authorization_servers.push_back(std::move(issuer));
  if (all.authorization_servers.empty())
    return fail(Code::denied, "its metadata names no authorization server with https",
                "write the URL of the authorization server into `oauth.issuer`");
  for (auto& scope : texts_in(document, "scopes_supported"))
    if (is_scope(scope)) all.scopes.push_back(std::move(scope));
  return all;
}

// The endpoints must belong to the issuer: otherwise a hostile server could send people to the login page of an honest
// one, and get the code at its own token_endpoint (mix-up, RFC 9700, section 4.4).
Result<> expect_origin_of_issuer(const AuthorizationServer& server) {
  for (const auto& [key, url] : {std::pair{"authorization_endpoint", &server.authorization_endpoint},
                                 std::pair{"registration_endpoint", &server.registration_endpoint}})
    if (!url->empty() && origin_of(*url) != origin_of(server.issuer))
      return fail(
          Code::denied,
          fmt::format("its metadata has an {} of another origin than its issuer: '{}'", key, printable(*url, 200)),
          "if the issuer is the right one, write it into `oauth.issuer`");
  return {};
}

Result<AuthorizationServer> read_authorization_server(std::string_view text, std::string_view issuer, PlainHttp plain,
                                                      NamedBy named_by) {
  TRY(const Json document, read_document(text));
  AuthorizationServer all;
  all.issuer = text_member(document, "issuer");
  if (!is_same_issuer(all.issuer, issuer))
    return fail(Code::denied, fmt::format("its metadata is of another issuer: '{}'", printable(all.issuer, 200)),
                "the metadata of an authorization server must name the issuer that it was asked for");
  TRY(all.authorization_endpoint, endpoint_in(document, "authorization_endpoint", plain));
  TRY(all.token_endpoint, endpoint_in(document, "token_endpoint", plain));
  TRY(all.registration_endpoint, endpoint_in(document, "registration_endpoint", plain));
  TRY(all.revocation_endpoint, endpoint_in(document, "revocation_endpoint", plain));
  if (named_by == NamedBy::server) CHECKED(expect_origin_of_issuer(all));
  if (all.token_endpoint.empty()) return fail(Code::denied, "its metadata has no token_endpoint");
  all.token_auth_methods = texts_in(document, "token_endpoint_auth_methods_supported");
  if (all.token_auth_methods.empty()) all.token_auth_methods = {"client_secret_basic"};  // RFC 8414, section 2
  if (const auto scopes = document.find("scopes_supported"); scopes != document.end() && scopes->is_array())
    all.has_offline_access = std::find(scopes->begin(), scopes->end(), kOfflineAccess) != scopes->end();
  const auto methods = texts_in(document, "code_challenge_methods_supported");
  all.has_s256 = std::find(methods.begin(), methods.end(), "S256") != methods.end();
  all.says_iss = flag_in(document, "authorization_response_iss_parameter_supported");
  all.reads_client_documents = flag_in(document, "client_id_metadata_document_supported");
  return all;
}

}  // namespace oauth
