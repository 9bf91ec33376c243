#include "supervisor/upstream/authorization/challenge.h"

#include "tests/catch.h"

namespace {

std::optional<oauth::Challenge> read(std::vector<std::string> values) {
  http::ReplyHead head;
  for (auto& value : values) head.headers.emplace_back("www-authenticate", std::move(value));
  return oauth::bearer_challenge(head);
}

}  // namespace

TEST_CASE("the challenge of the scheme Bearer is found among others", "[oauth]") {
  const auto challenge = read(
      {"Basic realm=\"x, Bearer error=no\"",
       R"(Negotiate, bearer realm="a \"b\"", resource_metadata="https://a.example/m", scope="a b a", error=invalid_token, Digest scope="c")"});
  REQUIRE(challenge);
  CHECK(challenge->resource_metadata == "https://a.example/m");
  CHECK(challenge->scopes == std::vector<std::string>{"a", "b"});
  CHECK(challenge->error == "invalid_token");
}

TEST_CASE("what is not understood is no challenge", "[oauth]") {
  const std::string wrong = GENERATE(as<std::string>(), "", "Basic realm=x", "Bearer scope=\"never ends",
                                     "Bearer scope=\"x\\", "Bearer scope=", "\"Bearer\"", "=,=");
  CAPTURE(wrong);
  CHECK_FALSE(read({wrong}));
  CHECK_FALSE(read({"Bearer scope=\"" + std::string(9000, 'x') + "\""}));
  CHECK(read({"Bearer"}));
}

TEST_CASE("scopes that are none are left out, and there are 64 at most", "[oauth]") {
  CHECK(oauth::split_scopes(" a  b\tc \"d e\\ \x7f").size() == 1);
  std::string many;
  for (int i = 0; i < 100; i++) many += " s" + std::to_string(i);
  CHECK(oauth::split_scopes(many).size() == 64);
}
