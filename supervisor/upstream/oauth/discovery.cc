#include "supervisor/upstream/oauth/discovery.h"

#include <fmt/format.h>

#include <optional>

#include "supervisor/base/log.h"
#include "supervisor/base/loopback.h"
#include "supervisor/protocol/http/addresses.h"
#include "supervisor/upstream/authorization/challenge.h"

namespace oauth {
namespace {

using namespace std::chrono_literals;

constexpr auto kRequestLimit = 15s;
constexpr size_t kMaxMetadataHead = 32 << 10;

// What a client asks that knows nothing about the server.
constexpr const char* kProbe =
    R"({"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{)"
    R"("io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}})";

// The document at the first of the places that has one; nullopt: no place has it. Errors: a place cannot be asked.
Task<Result<std::optional<std::string>>> first_document(http::HttpClient& client, const TokenTarget& target,
                                                        std::vector<std::string> positions) {
  for (const auto& position : positions) {
    http::ClientRequest request = request_to(target, position);
    request.headers.emplace_back("Accept", "application/json");
    const bool is_public = request.is_public;
    auto reply = co_await client.fetch(std::move(request));
    if (!reply && reply.error().code == Code::denied && is_public)
      reply.error().hint = "a server may name only public hosts; write the URL of a private one into `oauth.issuer`";
    if (!reply) co_return tl::unexpected<Error>(std::move(reply).error().within(printable(position, 200)));
    if (reply->head.status == 200) co_return std::optional(std::move(reply->body));
    if (reply->head.status >= 300 && reply->head.status < 400)
      co_return fail(Code::denied, printable(position, 200) + " is a redirect, and redirects are not followed");
    if (reply->head.status >= 500)
      co_return fail(Code::unavailable,
                     fmt::format("{}: HTTP status {}", printable(position, 200), reply->head.status));
  }
  co_return std::optional<std::string>();
}

// A server that cannot be asked without a token in the usual way has no challenge.
Task<Challenge> ask_for_challenge(http::HttpClient& client, const TokenTarget& target) {
  http::ClientRequest request = request_to(target, target.url);
  request.method = "POST";
  request.headers = target.headers;
  request.headers.emplace_back("Content-Type", "application/json");
  request.headers.emplace_back("Accept", "application/json, text/event-stream");
  request.headers.emplace_back("MCP-Protocol-Version", "2026-07-28");
  request.headers.emplace_back("Mcp-Method", "server/discover");
  request.body = kProbe;
  auto exchange = client.start(std::move(request));
  auto head = co_await exchange->head();
  std::optional<Challenge> challenge;
  if (head && head->status == 401) challenge = bearer_challenge(*head);
  co_return std::move(challenge).value_or(Challenge());
}

Task<Result<std::optional<ProtectedResource>>> find_resource(http::HttpClient& client, const TokenTarget& target,
                                                             const Challenge& challenge) {
  std::vector<std::string> positions = resource_metadata_places(target.url);
  if (!challenge.resource_metadata.empty()) {
    if (!check_endpoint(challenge.resource_metadata, plain_for(target.url)) ||
        origin_of(challenge.resource_metadata) != origin_of(target.url))
      co_return fail(Code::denied, fmt::format("the server names metadata at another place than its own: '{}'",
                                               printable(challenge.resource_metadata, 200)));
    positions = {challenge.resource_metadata};
  }
  CO_TRY(const auto text, co_await first_document(client, target, std::move(positions)));
  if (!text && challenge.resource_metadata.empty()) co_return std::optional<ProtectedResource>();
  if (!text) co_return fail(Code::unavailable, "the server has no metadata at the place that it names");
  auto resource = read_protected_resource(*text, target.url);
  if (!resource) co_return tl::unexpected<Error>(std::move(resource).error().within("the server"));
  co_return std::optional(*std::move(resource));
}

// Whether the configuration itself says that the server is on this machine or in a private network.
bool is_private_host(std::string_view url) {
  const std::string origin = origin_of(url);
  std::string_view host = std::string_view(origin).substr(origin.find("://") + 3);
  if (is_loopback_host(host)) return true;
  host = host.substr(0, host.rfind(':'));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return http::kind_of_address(host) == http::AddressKind::private_use;
}

std::string url_without_query(std::string_view url) { return std::string(url.substr(0, url.find_first_of("?#"))); }

// "http://host/" and its like: the issuer of a server that is its own authorization server.
std::string own_issuer(std::string_view url) {
  return std::string(url.substr(0, url.find_first_of("/?#", url.find("://") + 3)));
}

// The scope of refresh tokens is the authorization server's, not the MCP server's. An authorization server that lists
// its scopes decides whether it is asked for. It is never asked for alone: without any scope the server gives its usual
// ones. Facts: MCP 2026-07-28, SEP-2207.
void fit_offline_access(Discovered& match, OAuthSettings::Grant grant) {
  if (!match.server.has_offline_access) return;
  std::erase(match.scopes, kOfflineAccess);
  const bool is_wanted = *match.server.has_offline_access && grant == OAuthSettings::Grant::authorization_code;
  if (is_wanted && !match.scopes.empty()) match.scopes.push_back(kOfflineAccess);
}

}  // namespace

http::ClientRequest request_to(const TokenTarget& target, std::string url) {
  http::ClientRequest request;
  const bool is_named_by_server = target.settings.issuer.empty() && origin_of(url) != origin_of(target.url);
  request.is_public = is_named_by_server && !is_private_host(target.url);
  request.url = std::move(url);
  request.authorities = target.authorities;
  request.limit = kRequestLimit;
  request.max_head = kMaxMetadataHead;
  request.max_body = kMaxMetadata;
  return request;
}

Task<Result<Discovered>> discover(http::HttpClient& client, const TokenTarget& target) {
  const OAuthSettings& settings = target.settings;
  const Challenge challenge = co_await ask_for_challenge(client, target);
  Discovered match;
  match.resource = url_without_query(target.url);
  match.scopes = settings.scopes.empty() ? challenge.scopes : settings.scopes;
  auto resource = co_await find_resource(client, target, challenge);
  // With a configured issuer, the server's own metadata is not needed.
  if (!resource && settings.issuer.empty()) co_return tl::unexpected<Error>(std::move(resource).error());
  const bool has_resource = resource && *resource;
  if (has_resource) {
    match.resource = (*resource)->resource;
    if (match.scopes.empty()) match.scopes = (*resource)->scopes;
  }
  std::string issuer = settings.issuer;
  PlainHttp plain = PlainHttp::loopback;  // for an administrator's own word; not for a server's
  if (issuer.empty()) {
    issuer = has_resource ? (*resource)->authorization_servers.front() : own_issuer(target.url);
    plain = plain_for(target.url);
  } else if (issuer.starts_with("https://")) {
    plain = PlainHttp::never;
  }
  CO_TRY(const auto text, co_await first_document(client, target, issuer_metadata_places(issuer)));
  if (!text)
    co_return fail(Code::unavailable,
                   fmt::format("the authorization server {} has no metadata (RFC 8414)", printable(issuer, 200)),
                   has_resource || !settings.issuer.empty()
                       ? std::string()
                       : "write the URL of the authorization server into `oauth.issuer`");
  auto server = read_authorization_server(*text, issuer, plain,
                                          settings.issuer.empty() ? NamedBy::server : NamedBy::administrator);
  if (!server)
    co_return tl::unexpected<Error>(
        std::move(server).error().within("the authorization server " + printable(issuer, 200)));
  match.server = *std::move(server);
  if (settings.scopes.empty()) fit_offline_access(match, settings.grant);
  co_return match;
}

}  // namespace oauth
