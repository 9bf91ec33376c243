#include "supervisor/upstream/oauth/tokens.h"

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "tests/catch.h"

namespace {

http::HttpReply reply_with(const Json& body, int status = 200) { return {{status, {}}, dump_json(body)}; }

}  // namespace

TEST_CASE("a token reply replaces what it has, and keeps the former refresh token", "[oauth]") {
  oauth::Tokens tokens;
  tokens.refresh = "former";
  REQUIRE(oauth::read_token_reply(reply_with({{"access_token", "a-._~+/="}, {"token_type", "bEARER"}}), {"x"}, tokens));
  CHECK(tokens.access == "a-._~+/=");
  CHECK(tokens.refresh == "former");
  CHECK(tokens.scopes == std::vector<std::string>{"x"});
  CHECK(tokens.expires_at == 0);
  const Json more{{"access_token", "b"}, {"token_type", "Bearer"}, {"refresh_token", "next"}, {"expires_in", 60}};
  REQUIRE(oauth::read_token_reply(reply_with(more), {}, tokens));
  CHECK(tokens.refresh == "next");
  CHECK(tokens.expires_at >= oauth::seconds_now() + 59);
}

TEST_CASE("a refusal is told by its code, and the body is not shown", "[oauth]") {
  oauth::Tokens tokens;
  const auto refused = oauth::read_token_reply(
      reply_with({{"error", "invalid_grant"}, {"error_description", "old\nline"}, {"x", "s3cret"}}, 400), {}, tokens);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().rule == "invalid_grant");
  CHECK(refused.error().what.find('\n') == std::string::npos);
  CHECK(refused.error().what.find("s3cret") == std::string::npos);
  CHECK(oauth::read_token_reply({{502, {}}, "<html>s3cret"}, {}, tokens).error().what == "no token: HTTP status 502");
}

TEST_CASE("a registration has all that its way of authentication needs", "[oauth]") {
  CHECK(oauth::read_registration(reply_with({{"client_id", "c"}}, 201))->method == "none");
  CHECK(oauth::read_registration(reply_with({{"client_id", "c"}, {"client_secret", "s"}}))->method ==
        "client_secret_basic");
  const Json wrong = GENERATE(Json{{"client_id", ""}}, Json{{"client_id", "a\nb"}}, Json::array(),
                              Json{{"client_id", "c"}, {"token_endpoint_auth_method", "private_key_jwt"}},
                              Json{{"client_id", "c"}, {"token_endpoint_auth_method", "client_secret_post"}});
  CHECK_FALSE(oauth::read_registration(reply_with(wrong)));
}
