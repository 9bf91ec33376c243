#include "supervisor/upstream/oauth/tokens.h"

#include <fmt/format.h>

#include <algorithm>

#include "supervisor/base/ascii.h"
#include "supervisor/base/elapsed_clock.h"
#include "supervisor/base/json/fields.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_members.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/log.h"
#include "supervisor/upstream/authorization/challenge.h"

namespace oauth {
namespace {

constexpr int kReplyDepth = 8;
constexpr size_t kMaxToken = 16 << 10, kShownDescription = 200;
constexpr int64_t kMaxLife = 366 * 24 * 3600;  // seconds; longer lives are shortened to it

// The characters of a bearer token in a header (RFC 6750, section 2.1).
bool is_bearer(std::string_view text) {
  return !text.empty() && text.size() <= kMaxToken && std::all_of(text.begin(), text.end(), [](char c) {
    return is_alnum(c) || std::string_view("-._~+/=").find(c) != std::string_view::npos;
  });
}

bool is_visible_text(std::string_view text) {
  return text.size() <= kMaxToken &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return c >= ' ' && c < 0x7f; });
}

// The reply says why; only the fields of RFC 6749 are shown, never the body.
Error refusal(const http::HttpReply& reply, std::string_view subject) {
  const auto document = parse_json(reply.body, kReplyDepth);
  Error error{Code::unavailable, 0, fmt::format("{}: HTTP status {}", subject, reply.head.status), "", ""};
  if (!document || !document->is_object()) return error;
  const std::string code = text_member(*document, "error");
  if (code.empty() || !is_visible_text(code)) return error;
  error.code = Code::denied;
  error.rule = printable(code, 64);
  error.what = fmt::format("{}: {}", subject, error.rule);
  if (const std::string why = text_member(*document, "error_description"); !why.empty())
    error.what += " (" + printable(why, kShownDescription) + ")";
  return error;
}

Result<int64_t> life_of(const Json& document) {
  const auto it = document.find("expires_in");
  if (it == document.end() || it->is_null()) return 0;
  const bool is_good = it->is_number_integer() && it->get<int64_t>() > 0;
  if (!is_good && !(it->is_number_unsigned() && it->get<uint64_t>() > 0))
    return fail(Code::denied, "its token has a wrong expires_in");
  const uint64_t life = it->is_number_unsigned() ? it->get<uint64_t>() : static_cast<uint64_t>(it->get<int64_t>());
  return static_cast<int64_t>(std::min<uint64_t>(life, kMaxLife));
}

}  // namespace

int64_t seconds_now() { return rights_now_ms() / 1000; }

Result<> read_token_reply(const http::HttpReply& reply, const std::vector<std::string>& request, Tokens& into) {
  if (reply.head.status != 200) return tl::unexpected<Error>(refusal(reply, "no token"));
  const auto document = parse_json(reply.body, kReplyDepth);
  if (!document || !document->is_object()) return fail(Code::denied, "its token reply is not a JSON object");
  if (!is_same_word(text_member(*document, "token_type"), "bearer"))
    return fail(Code::denied, "its token is not of the type Bearer");
  std::string access = text_member(*document, "access_token"), refresh = text_member(*document, "refresh_token");
  if (!is_bearer(access)) return fail(Code::denied, "its token reply has no usable access_token");
  if (!is_visible_text(refresh)) return fail(Code::denied, "its token reply has no usable refresh_token");
  TRY(const int64_t life, life_of(*document));
  std::vector<std::string> scopes = split_scopes(text_member(*document, "scope"));
  if (!request.empty())
    for (const auto& scope : scopes)
      if (std::find(request.begin(), request.end(), scope) == request.end())
        return fail(Code::denied,
                    fmt::format("its token has the scope '{}', which was not asked for", printable(scope, 64)),
                    "write all scopes that you want into `oauth.scopes`");
  into.access = std::move(access);
  if (!refresh.empty()) into.refresh = std::move(refresh);
  if (!scopes.empty())
    into.scopes = std::move(scopes);
  else if (into.scopes.empty())
    into.scopes = request;
  into.expires_at = life > 0 ? seconds_now() + life : 0;
  return {};
}

Result<> read_revocation_reply(const http::HttpReply& reply) {
  if (reply.head.status != 200) return tl::unexpected<Error>(refusal(reply, "the tokens are not revoked"));
  return {};
}

Result<ClientIdentity> read_registration(const http::HttpReply& reply) {
  if (reply.head.status != 200 && reply.head.status != 201)
    return tl::unexpected<Error>(refusal(reply, "it does not register this client"));
  const auto document = parse_json(reply.body, kReplyDepth);
  if (!document || !document->is_object()) return fail(Code::denied, "its registration is not a JSON object");
  ClientIdentity client;
  client.id = text_member(*document, "client_id");
  client.secret = text_member(*document, "client_secret");
  if (client.id.empty() || !is_visible_text(client.id) || !is_visible_text(client.secret))
    return fail(Code::denied, "its registration has no usable client_id");
  client.method = text_member(*document, "token_endpoint_auth_method");
  if (client.method.empty()) client.method = client.secret.empty() ? "none" : "client_secret_basic";
  const bool wants_secret = client.method == "client_secret_basic" || client.method == "client_secret_post";
  if (!wants_secret && client.method != "none")
    return fail(Code::denied, "its registration wants a way of authentication that the daemon does not have");
  if (wants_secret && client.secret.empty()) return fail(Code::denied, "its registration has no client_secret");
  return client;
}

std::string write_tokens(const Tokens& tokens) {
  return dump_json({{"access", tokens.access},
                    {"refresh", tokens.refresh},
                    {"token_endpoint", tokens.token_endpoint},
                    {"revocation_endpoint", tokens.revocation_endpoint},
                    {"issuer", tokens.issuer},
                    {"resource", tokens.resource},
                    {"client_id", tokens.client.id},
                    {"client_secret", tokens.client.secret},
                    {"client_method", tokens.client.method},
                    {"scopes", tokens.scopes},
                    {"expires_at", tokens.expires_at}});
}

Result<Tokens> parse_tokens(std::string_view text) {
  TRY(const Json document, parse_json(text, kReplyDepth));
  Fields in(document, "login");
  Tokens tokens;
  constexpr size_t kMax = 32 << 10;
  TRY(tokens.access, in.string("access", kMax));
  TRY(tokens.refresh, in.string("refresh", kMax));
  TRY(tokens.token_endpoint, in.string("token_endpoint", kMax));
  TRY(tokens.revocation_endpoint, in.string_or("revocation_endpoint", "", kMax));  // older files lack it
  TRY(tokens.issuer, in.string("issuer", kMax));
  TRY(tokens.resource, in.string("resource", kMax));
  TRY(tokens.client.id, in.string("client_id", kMax));
  TRY(tokens.client.secret, in.string("client_secret", kMax));
  TRY(tokens.client.method, in.string("client_method", kMax));
  TRY(tokens.scopes, in.strings_or("scopes", {}));
  TRY(tokens.expires_at, in.integer("expires_at", 0, INT64_MAX));
  CHECKED(in.done());
  return tokens;
}

}  // namespace oauth
