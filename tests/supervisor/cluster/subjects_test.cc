#include "supervisor/cluster/bus/subjects.h"

#include <random>
#include <set>

#include "supervisor/cluster/trust/nkey.h"
#include "tests/catch.h"

namespace cluster {

TEST_CASE("subjects are tokens of plain characters", "[subjects]") {
  for (const char* good : {"w1", "w1.node.n-1", "_INBOX.n1.x", "A_Z.0-9"}) CHECK(check_subject(good));
  for (const char* bad :
       {"", ".", "w1.", ".w1", "w1..x", "w1.*", "w1.>", "w 1", "w1\r\nPUB x 0", "$JS.API", "w\xc3\xa9"})
    CHECK_FALSE(check_subject(bad));
  CHECK(check_subject(std::string(255, 'a')));
  CHECK_FALSE(check_subject(std::string(256, 'a')));
  CHECK_FALSE(check_subject(std::string_view("a\0b", 3)));
  CHECK(check_subject("w1.a b").error().what == "'a b' is no valid token of the subject 'w1.a b'");
}

TEST_CASE("filters have wildcards as whole tokens", "[subjects]") {
  for (const char* good : {">", "*", "w1.*.x", "w1.>", "*.*.>", "w1"}) CHECK(check_filter(good));
  for (const char* bad : {"", "w1.>.x", "w1.a*", "w1.>>", ">.", "w1.a>"}) CHECK_FALSE(check_filter(bad));
  CHECK(matches(">", "w1"));
  CHECK(matches("w1.>", "w1.a.b"));
  CHECK_FALSE(matches("w1.>", "w1"));
  CHECK(matches("w1.*.b", "w1.a.b"));
  CHECK_FALSE(matches("w1.*", "w1.a.b"));
  CHECK_FALSE(matches("w1.*.c", "w1.a.b"));
  CHECK_FALSE(matches("w1.a.b", "w1.a"));
  CHECK(matches("w1.a", "w1.a"));
}

TEST_CASE("different names give different tokens, all of them valid and short", "[subjects]") {
  CHECK(name_token("acme") == "acme");
  CHECK(name_token("") == "_");
  CHECK(name_token("a_b c/") == "a_5Fb_20c_2F");
  CHECK(name_token("_") == "_5F");
  CHECK(name_token(std::string(64, 'a')) == std::string(64, 'a'));
  CHECK(name_token(std::string(65, 'a')).size() == kMaxNameToken);
  CHECK(name_token(std::string(65, 'a')).starts_with("_H"));
  CHECK(tenant_key("acme", "") == "acme._");
  CHECK(tenant_key("acme", "_") == "acme._5F");
  CHECK(tenant_key("a.b", "c") == "a_2Eb.c");
  std::set<std::string> names{
      "", "_", "_5F", "_H", "a.b", "a_2Eb", "A", "a", std::string("a\0", 2), std::string(65, 'a')};
  // Names that look like the tokens of others.
  for (int round = 0; round < 3; round++)
    for (const std::string& name : std::set<std::string>(names)) names.insert(name_token(name));
  std::mt19937 random(7);
  for (int i = 0; i < 5000; i++) {
    std::string name(random() % 80, '\0');
    for (char& c : name) c = "ab_.-H5F \xff"[random() % 10];
    names.insert(name);
  }
  std::set<std::string> tokens;
  for (const std::string& name : names) {
    const std::string token = name_token(name);
    CHECK(tokens.insert(token).second);
    REQUIRE(check_subject(token));
    REQUIRE(token.size() <= kMaxNameToken);
  }
}

TEST_CASE("an nkey's seed gives its public key", "[nkey]") {
  const std::string seed = new_nkey_seed();
  CHECK(seed.size() == 58);
  CHECK(seed.starts_with("SU"));
  const auto key = nkey_public_key(" " + seed + "\r\n");
  REQUIRE(key);
  CHECK(key->size() == 56);
  CHECK(key->starts_with("U"));
  CHECK(new_nkey_seed() != seed);
  CHECK(nkey_sign(seed, "nonce")->size() == 64);
  // The pair of NATS's documentation.
  CHECK(nkey_public_key("SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY").value() ==
        "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4");
  std::string wrong = seed;
  wrong[20] = wrong[20] == 'A' ? 'B' : 'A';
  for (const std::string& text : {wrong, std::string(), std::string("SU"), *key, seed + "A", seed.substr(1)}) {
    const auto refused = nkey_public_key(text);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().what.find(seed.substr(4, 10)) == std::string::npos);
  }
}

}  // namespace cluster
