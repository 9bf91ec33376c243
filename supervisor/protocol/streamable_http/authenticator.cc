#include "supervisor/protocol/streamable_http/authenticator.h"

#include <fmt/format.h>

#include <vector>

#include "supervisor/base/ascii.h"

namespace streamable_http {
namespace {

constexpr size_t kMaxTokenBytes = 16 << 10;
constexpr std::string_view kBearer = "bearer";

// The text behind "Bearer "; empty: the field has another form.
std::string_view bearer_token(std::string_view field) {
  const size_t space = field.find(' ');
  if (space != kBearer.size() || field.size() > kMaxTokenBytes) return {};
  const bool is_bearer = is_same_word(field.substr(0, space), kBearer);
  const std::string_view token = field.substr(space + 1);
  return is_bearer && token.find_first_of(" \t,") == token.npos ? token : std::string_view();
}

}  // namespace

std::string_view denial_name(DenialReason reason) {
  constexpr std::string_view kNames[kDenialReasons] = {"no_token", "malformed", "unknown", "expired", "bad_jwt"};
  return kNames[static_cast<size_t>(reason)];
}

std::string_view denial_text(DenialReason reason) {
  constexpr std::string_view kTexts[kDenialReasons] = {
      "it has no token", "its Authorization has not the form of a token", "its token is not known",
      "its token has expired", "its JWT is not good"};
  return kTexts[static_cast<size_t>(reason)];
}

tl::expected<mcp::Principal, Denial> TokenAuthenticator::authenticate(const http::IncomingRequest& request) const {
  if (request.count("authorization") == 0) return tl::unexpected(Denial{DenialReason::no_token, {}});
  const std::string* field = request.field("authorization");
  const std::string_view token = field ? bearer_token(*field) : std::string_view();
  if (token.empty()) return tl::unexpected(Denial{DenialReason::malformed, {}});
  if (jwt_.is_set() && credentials::looks_like_jwt(token)) return authenticate_jwt(token);
  const credentials::StoredToken* stored_token = tokens_.find(token);
  if (!stored_token) return tl::unexpected(Denial{DenialReason::unknown, {}});
  if (stored_token->is_expired(credentials::rights_now()))
    return tl::unexpected(Denial{DenialReason::expired, stored_token->name});
  mcp::Principal bearer = mcp::Principal::of_token(stored_token->name);
  if (stored_token->expires) bearer.set_good_until(*stored_token->expires);
  return bearer;
}

tl::expected<mcp::Principal, Denial> TokenAuthenticator::authenticate_jwt(std::string_view text) const {
  const auto claims = credentials::verify_jwt(jwt_, text, credentials::rights_now());
  if (!claims) return tl::unexpected(Denial{DenialReason::bad_jwt, std::string(claims.error())});
  mcp::Principal bearer = mcp::Principal::of_subject(claims->subject, claims->claim, jwt_.issuer);
  bearer.set_good_until(claims->good_until);
  bearer.set_key(claims->key);
  return bearer;
}

std::string TokenAuthenticator::challenge(DenialReason reason) const {
  std::vector<std::string> parameters;
  if (reason != DenialReason::no_token && reason != DenialReason::malformed)
    parameters.emplace_back("error=\"invalid_token\"");
  if (jwt_.is_set()) parameters.push_back("resource_metadata=\"" + credentials::metadata_url(jwt_) + "\"");
  return fmt::format("Bearer{}{}", parameters.empty() ? "" : " ", fmt::join(parameters, ", "));
}

std::string TokenAuthenticator::metadata() const {
  return jwt_.is_set() ? credentials::metadata_text(jwt_) : std::string();
}

}  // namespace streamable_http
