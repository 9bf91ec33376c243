#include "supervisor/upstream/authorization/settings.h"

#include <algorithm>

#include "supervisor/base/json/fields.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/upstream/authorization/urls.h"

namespace oauth {
namespace {

constexpr size_t kMaxScopes = 64, kMaxScope = 256, kMaxClient = 1024;

// Facts: draft-ietf-oauth-client-id-metadata-document, section 2.
Result<> check_client_document(const std::string& url, const std::string& key) {
  auto fits = check_endpoint(url, PlainHttp::never);
  if (!fits) return tl::unexpected<Error>(std::move(fits).error().within(key));
  const std::string path = path_of_url(url) + "/";
  if (path == "/" || path.find("/./") != path.npos || path.find("/../") != path.npos)
    return fail(Code::invalid, key + ": the URL of a client's metadata needs a path, without . and ..",
                "if the authorization server gave this client_id, write its URL into `issuer`");
  return {};
}

}  // namespace

bool is_scope(std::string_view text) {
  return !text.empty() && text.size() <= kMaxScope && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return c > ' ' && c < 0x7f && c != '"' && c != '\\';
  });
}

Result<OAuthSettings> read_settings(const Json& object, const std::string& path) {
  Fields in(object, path);
  OAuthSettings settings;
  TRY(const std::string grant, in.one_of("grant", {"authorization_code", "client_credentials"}));
  if (grant == "client_credentials") settings.grant = OAuthSettings::Grant::client_credentials;
  TRY(settings.client_id, in.string_or("client_id", "", kMaxClient));
  TRY(settings.client_secret, in.string_or("client_secret", ""));
  TRY(settings.scopes, in.strings_or("scopes", {}));
  TRY(settings.issuer, in.string_or("issuer", ""));
  CHECKED(in.done());
  if (!std::all_of(settings.client_id.begin(), settings.client_id.end(),
                   [](unsigned char c) { return c >= ' ' && c < 0x7f; }))
    return fail(Code::invalid, path + ".client_id: has a character that is no visible ASCII");
  if (settings.scopes.size() > kMaxScopes || !std::all_of(settings.scopes.begin(), settings.scopes.end(), is_scope))
    return fail(Code::invalid, path + ".scopes: not a list of at most 64 scopes, each without blanks and quotes");
  if (!settings.client_secret.empty() && settings.client_secret.front() != '/')
    return fail(Code::invalid, path + ".client_secret: not the absolute path of a file",
                "write the secret to a file, and its path here: the configuration must not contain secrets");
  if (!settings.client_secret.empty() && settings.client_id.empty())
    return fail(Code::invalid, path + ".client_secret: needs a client_id");
  if (!settings.client_secret.empty() && settings.issuer.empty())
    return fail(Code::invalid,
                path + ".client_secret: needs an issuer, because otherwise the server chooses who gets the secret",
                "write the URL of the authorization server into `issuer`");
  if (settings.grant == OAuthSettings::Grant::client_credentials && settings.client_secret.empty())
    return fail(Code::invalid, path + ".grant: client_credentials needs client_id and client_secret");
  if (settings.has_client_document()) CHECKED(check_client_document(settings.client_id, path + ".client_id"));
  if (!settings.issuer.empty()) {
    auto fits = check_endpoint(settings.issuer, PlainHttp::loopback);
    if (!fits) return tl::unexpected<Error>(std::move(fits).error().within(path + ".issuer"));
  }
  return settings;
}

}  // namespace oauth
