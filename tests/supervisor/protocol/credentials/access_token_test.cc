#include "supervisor/protocol/credentials/access_token.h"

#include <set>

#include "supervisor/protocol/credentials/token_table.h"
#include "tests/catch.h"

using namespace credentials;

TEST_CASE("a token has 256 random bits, and a form that tools know", "[credentials]") {
  std::set<std::string> created;
  for (int i = 0; i < 100; i++) {
    const std::string token = new_access_token();
    CHECK(token.size() == 52);
    CHECK(token.starts_with("wrd_"));
    CHECK(token.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") == token.npos);
    CHECK(check_access_token(token));
    created.insert(token);
  }
  CHECK(created.size() == 100);
}

TEST_CASE("a mistyped or cut token is told from an unknown one", "[credentials]") {
  const std::string token = new_access_token();
  // Each character of each place, changed to its neighbour.
  for (size_t at = 4; at < token.size(); at++) {
    std::string typed = token;
    typed[at] = typed[at] == 'A' ? 'B' : 'A';
    CAPTURE(at);
    const auto checked = check_access_token(typed);
    REQUIRE_FALSE(checked);
    CHECK(checked.error().code == Code::invalid);
    CHECK(checked.error().what.find(typed) == std::string::npos);  // an error does not hold the token
  }
  std::string swapped = token;
  std::swap(swapped[10], swapped[11]);
  CHECK((swapped == token || !check_access_token(swapped)));
  for (const std::string& typed : {std::string(), std::string("wrd_"), token.substr(0, 51), token + "A", " " + token,
                                   "WRD_" + token.substr(4), token.substr(4), token.substr(0, 51) + "=",
                                   token.substr(0, 51) + "\xff", std::string("wrd_") + std::string(48, '\0')}) {
    CAPTURE(typed);
    CHECK_FALSE(check_access_token(typed));
  }
}

TEST_CASE("a hash is no token, and belongs to one text", "[credentials]") {
  const std::string token = new_access_token();
  CHECK(is_token_hash(hash_of_token(token)));
  CHECK(hash_of_token(token) == hash_of_token(token));
  CHECK(hash_of_token(token) != hash_of_token(token + " "));
  // The vector of RFC 7693, appendix A, has 64 bytes; this one is `b2sum -l 256` of "abc".
  CHECK(hash_of_token("abc") == "blake2b:bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
  for (const char* text : {"", "blake2b:", "sha256:bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319",
                           "blake2b:BDDD813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319",
                           "blake2b:bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d523190"})
    CHECK_FALSE(is_token_hash(text));
}

TEST_CASE("a table finds a token by its text, and by nothing else", "[credentials]") {
  const std::string first = new_access_token(), second = new_access_token();
  StoredToken one, other, again;
  one.name = "one", one.hash = hash_of_token(first);
  other.name = "other", other.hash = hash_of_token(second);
  again.name = "one", again.hash = hash_of_token("third");
  const TokenTable table({one, other, again});
  CHECK(table.count() == 2);
  REQUIRE(table.find(first));
  CHECK(table.find(first)->name == "one");
  CHECK(table.find(second)->name == "other");
  CHECK_FALSE(table.find(one.hash));
  CHECK_FALSE(table.find("one"));
  CHECK_FALSE(table.find(""));
  CHECK_FALSE(table.find("third"));
  CHECK(table.named("one")->hash == one.hash);
  CHECK_FALSE(table.named("third"));
  CHECK_FALSE(TokenTable().find(first));
}
