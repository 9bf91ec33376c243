#include "supervisor/upstream/oauth/token_requests.h"

#include <algorithm>

#include "supervisor/base/base64.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/log.h"
#include "supervisor/upstream/authorization/challenge.h"

namespace oauth {
namespace {

constexpr const char* kBasic = "client_secret_basic";
constexpr const char* kPostSecret = "client_secret_post";
constexpr const char* kPublic = "none";
constexpr std::chrono::seconds kRevocationLimit{5};  // a person waits for the logout

bool takes(const AuthorizationServer& server, const char* method) {
  return std::find(server.token_auth_methods.begin(), server.token_auth_methods.end(), method) !=
         server.token_auth_methods.end();
}

// One value as a form has it, for "id:secret" (RFC 6749, section 2.3.1).
std::string form_encoded(const std::string& text) { return write_form({{"", text}}).substr(1); }

Error of_server(Error error, const std::string& issuer) {
  return std::move(error).within("the authorization server " + printable(issuer, 200));
}

// A form that this client sends, with its credentials.
http::ClientRequest form_request(const TokenTarget& target, const std::string& url, const ClientIdentity& identity,
                                 FormFields form) {
  http::ClientRequest request = request_to(target, url);
  request.method = "POST";
  request.only_once = true;  // a code or a rotated refresh token is good for one use
  request.headers.emplace_back("Content-Type", "application/x-www-form-urlencoded");
  request.headers.emplace_back("Accept", "application/json");
  if (identity.method == kBasic) {
    const std::string pair = form_encoded(identity.id) + ":" + form_encoded(identity.secret);
    request.headers.emplace_back("Authorization", "Basic " + to_base64(pair));
  } else {
    form.emplace_back("client_id", identity.id);
    if (identity.method == kPostSecret) form.emplace_back("client_secret", identity.secret);
  }
  request.body = write_form(form);
  return request;
}

Task<Result<Tokens>> ask(http::HttpClient& client, const TokenTarget& target, Tokens tokens, FormFields form,
                         std::vector<std::string> requested) {
  form.emplace_back("resource", tokens.resource);
  http::ClientRequest request = form_request(target, tokens.token_endpoint, tokens.client, std::move(form));
  auto reply = co_await client.fetch(std::move(request));
  if (!reply) co_return tl::unexpected<Error>(of_server(std::move(reply).error(), tokens.issuer));
  auto read = read_token_reply(*reply, requested, tokens);
  if (!read) co_return tl::unexpected<Error>(of_server(std::move(read).error(), tokens.issuer));
  co_return tokens;
}

Tokens tokens_for(const Discovered& discovered, ClientIdentity identity) {
  Tokens tokens;
  tokens.token_endpoint = discovered.server.token_endpoint;
  tokens.revocation_endpoint = discovered.server.revocation_endpoint;
  tokens.issuer = discovered.server.issuer;
  tokens.resource = discovered.resource;
  tokens.client = std::move(identity);
  return tokens;
}

}  // namespace

Result<ClientIdentity> configured_client(const OAuthSettings& settings, const AuthorizationServer& server,
                                         std::string secret) {
  if (settings.has_client_document() && !server.reads_client_documents)
    return fail(
        Code::denied, "the authorization server reads no metadata of clients: client_id cannot be a URL",
        "leave `oauth.client_id` out, and the daemon registers itself; or register a client there, and write its "
        "`client_id` and the `issuer`");
  ClientIdentity identity{settings.client_id, std::move(secret), kPublic};
  if (identity.secret.empty()) return identity;
  if (!takes(server, kBasic) && !takes(server, kPostSecret))
    return fail(Code::denied, "the authorization server takes neither client_secret_basic nor client_secret_post");
  identity.method = takes(server, kBasic) ? kBasic : kPostSecret;
  return identity;
}

Task<Result<ClientIdentity>> register_client(http::HttpClient& client, const TokenTarget& target,
                                             const Discovered& discovered, std::string redirect) {
  const AuthorizationServer& server = discovered.server;
  if (server.registration_endpoint.empty())
    co_return fail(Code::denied, "the authorization server registers no clients by itself",
                   "register a client there, and write its `client_id` into `oauth` of the server");
  const char* method = takes(server, kPublic) ? kPublic : takes(server, kBasic) ? kBasic : kPostSecret;
  Json body;
  body["client_name"] = "Warder";
  body["redirect_uris"] = Json::array({redirect});
  body["grant_types"] = Json::array({"authorization_code", "refresh_token"});
  body["response_types"] = Json::array({"code"});
  body["application_type"] = "native";
  body["token_endpoint_auth_method"] = method;
  if (!discovered.scopes.empty()) body["scope"] = join_scopes(discovered.scopes);
  http::ClientRequest request = request_to(target, server.registration_endpoint);
  request.method = "POST";
  request.only_once = true;
  request.headers.emplace_back("Content-Type", "application/json");
  request.headers.emplace_back("Accept", "application/json");
  request.body = dump_json(body);
  auto reply = co_await client.fetch(std::move(request));
  if (!reply) co_return tl::unexpected<Error>(of_server(std::move(reply).error(), server.issuer));
  auto identity = read_registration(*reply);
  if (!identity) co_return tl::unexpected<Error>(of_server(std::move(identity).error(), server.issuer));
  co_return identity;
}

Task<Result<Tokens>> tokens_by_code(http::HttpClient& client, const TokenTarget& target, const Discovered& discovered,
                                    ClientIdentity identity, CodeGrant grant) {
  FormFields form{{"grant_type", "authorization_code"},
                  {"code", std::move(grant.code)},
                  {"redirect_uri", std::move(grant.redirect)},
                  {"code_verifier", std::move(grant.verifier)}};
  auto tokens = tokens_for(discovered, std::move(identity));
  auto answer = co_await ask(client, target, std::move(tokens), std::move(form), discovered.scopes);
  co_return answer;
}

Task<Result<Tokens>> tokens_by_credentials(http::HttpClient& client, const TokenTarget& target,
                                           const Discovered& discovered, ClientIdentity identity) {
  FormFields form{{"grant_type", "client_credentials"}};
  if (!discovered.scopes.empty()) form.emplace_back("scope", join_scopes(discovered.scopes));
  auto tokens = tokens_for(discovered, std::move(identity));
  auto answer = co_await ask(client, target, std::move(tokens), std::move(form), discovered.scopes);
  co_return answer;
}

Task<Result<Tokens>> tokens_by_refresh(http::HttpClient& client, const TokenTarget& target, Tokens former) {
  FormFields form{{"grant_type", "refresh_token"}, {"refresh_token", former.refresh}};
  std::vector<std::string> scopes = former.scopes;
  auto answer = co_await ask(client, target, std::move(former), std::move(form), std::move(scopes));
  co_return answer;
}

Task<Result<>> revoke_tokens(http::HttpClient& client, const TokenTarget& target, Tokens tokens) {
  if (tokens.revocation_endpoint.empty())
    co_return tl::unexpected<Error>(
        of_server(Error{Code::unavailable, 0, "it has no revocation_endpoint", "", ""}, tokens.issuer));
  const bool has_refresh = !tokens.refresh.empty();
  FormFields form{{"token", has_refresh ? tokens.refresh : tokens.access},
                  {"token_type_hint", has_refresh ? "refresh_token" : "access_token"}};
  http::ClientRequest request = form_request(target, tokens.revocation_endpoint, tokens.client, std::move(form));
  request.limit = request.connect = kRevocationLimit;
  auto reply = co_await client.fetch(std::move(request));
  if (!reply) co_return tl::unexpected<Error>(of_server(std::move(reply).error(), tokens.issuer));
  auto read = read_revocation_reply(*reply);
  if (!read) co_return tl::unexpected<Error>(of_server(std::move(read).error(), tokens.issuer));
  co_return Result<>{};
}

}  // namespace oauth
