#include "supervisor/protocol/credentials/stored_token.h"

#include <fstream>

#include "supervisor/base/json/json_value.h"
#include "supervisor/protocol/credentials/access_token.h"
#include "tests/catch.h"
#include "tests/temp_directory.h"

using namespace credentials;

namespace {

std::string problem_of(const Json& entry, const std::string& name = "ci") {
  const auto read = read_token(name, entry, "tokens." + name);
  return read ? "" : read.error().what;
}

std::string hash(const std::string& text) { return hash_of_token(text); }

}  // namespace

TEST_CASE("an entry is read whole", "[credentials]") {
  const auto token = read_token("ci",
                                {{"hash", hash("a")},
                                 {"created", "2026-11-26T18:00:00Z"},
                                 {"expires", "2027-01-01T00:00:00Z"},
                                 {"tenant", "team"},
                                 {"policy", "strict"}},
                                "tokens.ci");
  REQUIRE(token);
  CHECK(token->hash == hash("a"));
  CHECK(wall_time_text(*token->expires) == "2027-01-01T00:00:00Z");
  CHECK(token->rule.token == "ci");
  CHECK(token->rule.tenant == "team");
  CHECK(token->rule.policy == "strict");
  CHECK(token->rule.exists());
  const auto plain = read_token("ci", {{"hash", hash("a")}}, "tokens.ci");
  REQUIRE(plain);
  CHECK_FALSE(plain->expires);
  CHECK_FALSE(plain->rule.exists());
}

TEST_CASE("a token expires in the second that its entry names", "[credentials]") {
  StoredToken token;
  CHECK_FALSE(token.is_expired(rights_now()));
  token.expires = *parse_wall_time("2027-01-01T00:00:00Z");
  CHECK_FALSE(token.is_expired(*token.expires - std::chrono::seconds(1)));
  CHECK(token.is_expired(*token.expires));
}

TEST_CASE("an entry with a mistake is refused, and the mistake is named", "[credentials]") {
  CHECK(problem_of({}) != "");
  CHECK(problem_of({{"hash", "wrd_secret"}}) == "tokens.ci.hash: not blake2b: and 64 hexadecimal digits");
  CHECK(problem_of({{"hash", hash("a")}, {"expires", "tomorrow"}}) ==
        "tokens.ci.expires: not a time such as 2027-01-01T00:00:00Z");
  CHECK(problem_of({{"hash", hash("a")}, {"tenant", "../x"}}).starts_with("tokens.ci.tenant: \"../x\" is not"));
  CHECK(problem_of({{"hash", hash("a")}, {"policy", ""}}).starts_with("tokens.ci.policy: \"\" is not"));
  CHECK(problem_of({{"hash", hash("a")}, {"expire", "x"}}).find("unknown key") != std::string::npos);
  CHECK(problem_of({{"hash", hash("a")}}, "CI") != "");
  CHECK(problem_of({{"hash", hash("a")}}, ".ci") != "");
  CHECK(problem_of({{"hash", hash("a")}}, std::string(49, 'a')) != "");
  CHECK(problem_of({{"hash", hash("a")}}, std::string(48, 'a')) == "");
  const auto twice = read_tokens({{"a", {{"hash", hash("a")}}}, {"b", {{"hash", hash("a")}}}}, "tokens");
  REQUIRE_FALSE(twice);
  CHECK(twice.error().what == "tokens.b.hash: another token has this hash, too");
  CHECK_FALSE(read_tokens(Json::array(), "tokens"));
}

TEST_CASE("times have one form", "[credentials]") {
  for (const char* text :
       {"", "2027-01-01", "2027-01-01T00:00:00", "2027-01-01T00:00:00+00:00", "2027-02-29T00:00:00Z",
        "2027-13-01T00:00:00Z", "2027-01-01T24:00:00Z", "2027-01-01T00:60:00Z", "2027-01-01t00:00:00Z",
        "+027-01-01T00:00:00Z", "2027-01-01T00:00:00Z ", "2027- 1-01T00:00:00Z"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_wall_time(text));
  }
  for (const char* text : {"2028-02-29T23:59:59Z", "1970-01-01T00:00:00Z", "9999-12-31T00:00:00Z"})
    CHECK(wall_time_text(parse_wall_time(text).value()) == text);
  CHECK(parse_wall_time("1970-01-02T00:00:01Z")->time_since_epoch().count() == 86'401);
}

TEST_CASE("the credential of systemd holds entries by name", "[credentials]") {
  CHECK(load_token_credential("")->empty());
  const TempDirectory folder;
  CHECK(load_token_credential(folder.path())->empty());
  const std::string file = std::string(folder.path()) + "/warder.tokens";
  std::ofstream(file) << R"({"ci": {"hash": ")" << hash("a") << R"("}})";
  auto loaded = load_token_credential(folder.path());
  REQUIRE(loaded);
  REQUIRE(loaded->size() == 1);
  CHECK(loaded->front().name == "ci");
  std::ofstream(file) << "wrd_not_json";
  loaded = load_token_credential(folder.path());
  REQUIRE_FALSE(loaded);
  CHECK(loaded.error().what.find("warder.tokens") != std::string::npos);
}

TEST_CASE("a credential with a key that is there twice is refused with both lines", "[credentials]") {
  const TempDirectory temporary;
  const auto load = [&](const std::string& text) {
    std::ofstream(temporary.path() / "warder.tokens") << text;
    return load_token_credential(temporary.path());
  };
  const std::string entry = "{\"hash\": \"" + hash("a") + "\"";
  CHECK(load("{\"ci\": " + entry + "}}")->size() == 1);
  const auto twice = load("{\"ci\": " + entry + ",\n  \"tenant\": \"one\",\n  \"tenant\": \"two\"}}");
  REQUIRE_FALSE(twice);
  CHECK_THAT(twice.error().what,
             Catch::Matchers::Contains("line 3, column 3: the key \"tenant\" is there twice, first in line 2"));
}
