// Who may be a node: the form of the record, and which record follows another.
#include "supervisor/cluster/trust/trust_record.h"

#include "supervisor/cluster/trust/nats_config.h"
#include "tests/catch.h"
#include "tests/supervisor/cluster/trust_fixture.h"

using namespace cluster;
using trust_test::key_of;
using trust_test::node_of;
using trust_test::record_of;
using trust_test::signed_record;

namespace {

// A rule of the authority with any content, as somebody with its key could make it.
std::string with_content(const std::string& content, int64_t serial = 2) {
  SignedRule rule;
  rule.kind = "trust";
  rule.cluster = rule.name = "c1";
  rule.serial = serial;
  rule.content = content;
  return sign_rule(rule, key_of(trust_test::kAuthority)).value();
}

std::string content_of(const std::string& text) { return read_signed_rule(text)->content; }

std::string exchanged(std::string text, const std::string& subject, const std::string& by) {
  const size_t at = text.find(subject);
  REQUIRE(at != text.npos);
  return text.replace(at, subject.size(), by);
}

}  // namespace

TEST_CASE("a trust record comes back as it was signed, in order", "[cluster]") {
  const auto record = record_of({node_of("n2", 2, {{"web", "acme", "web"}}), node_of("n1", 1)}, 5);
  const auto read = read_trust_anchor(signed_record(record));
  REQUIRE(read);
  CHECK((read->cluster == "c1" && read->serial == 5 && read->nodes.size() == 2));
  CHECK(read->nodes[0].name == "n1");
  CHECK(read->nodes[1].accounts == std::vector<std::string>{"acme", "web"});
  CHECK(read->find("n2")->may_act_for("acme"));
  CHECK_FALSE(read->find("n2")->may_act_for("evil"));
  CHECK(read->find("n1")->may_act_for("evil"));
  CHECK(read->find("n3") == nullptr);
}

TEST_CASE("a trust record's form is the only one, also if the authority signed another", "[cluster]") {
  const std::string good =
      content_of(signed_record(record_of({node_of("n1", 1), node_of("n2", 2, {{"acme", "web"}})})));
  const auto last = record_of({});
  REQUIRE(read_next_trust(with_content(good), last));
  const std::string n2 = "{\"name\":\"n2\"";
  const std::string key1 = key_of(1).public_key().text(), key2 = key_of(2).public_key().text();
  const std::pair<std::string, std::string> cases[] = {
      {"\"nodes\":[", "\"nodes\": ["},
      {"\"nodes\":[", "\"more\":[],\"nodes\":["},
      {"\"introductions\":[],", ""},
      {"\"introductions\":[]", "\"introductions\":{}"},
      {"\"introductions\":[]", "\"introductions\":[1]"},
      {n2, "{\"name\":\"n1\""},  // two nodes with one name
      {n2, "{\"name\":\"n0\""},  // out of order
      {n2, "{\"name\":\"n2\",\"name\":\"n3\""},
      {n2, "{\"name\":\"../n2\""},
      {key2, key1},  // two nodes with one key
      {key2, "ed25519:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="},
      {node_of("n2", 2).nats, node_of("n1", 1).nats},
      {node_of("n2", 2).nats, "UAAA"},
      {"[\"acme\",\"web\"]", "[\"web\",\"acme\"]"},
      {"[\"acme\",\"web\"]", "[\"acme\",\"acme\"]"},
      {"[\"acme\",\"web\"]", "[\"acme\",1]"},
      {"[\"acme\",\"web\"]", "[\"*\"]"},
      {"[\"acme\",\"web\"]", "\"*\""},
      {"[\"acme\",\"web\"]", "null"},
      {"\"authorities\":[", "\"authorities\":[1,"},
      {"\"authorities\":[\"" + key_of(trust_test::kAuthority).public_key().text() + "\"]", "\"authorities\":[]"},
      {"\"authorities\":[\"" + key_of(trust_test::kAuthority).public_key().text(), "\"authorities\":[\"" + key1},
  };
  for (const auto& [what, by] : cases) {
    INFO(what << " -> " << by);
    CHECK_FALSE(read_next_trust(with_content(exchanged(good, what, by)), last));
  }
  for (const char* other : {"", "[]", "{}", "null"}) CHECK_FALSE(read_next_trust(with_content(other), last));
  auto many = record_of({});
  for (int i = 0; i < 1001; i++) many.nodes.push_back(node_of("n" + std::to_string(i), 1));
  CHECK(sign_trust(many, key_of(trust_test::kAuthority)).error().code == Code::exhausted);
}

TEST_CASE("a record follows another by a known authority and a larger serial", "[cluster]") {
  const auto last = record_of({node_of("n1", 1)}, 5);
  CHECK(read_next_trust(signed_record(record_of({}, 6)), last));
  CHECK(read_next_trust(signed_record(record_of({}, 500)), last));
  for (const int64_t serial : {1, 4, 5}) {
    const auto old = read_next_trust(signed_record(record_of({node_of("n9", 9)}, serial)), last);
    REQUIRE_FALSE(old);
    CHECK(old.error().what.starts_with("serial: "));
  }
  auto other_cluster = record_of({}, 6);
  other_cluster.cluster = "c2";
  CHECK(read_next_trust(signed_record(other_cluster), last).error().what.starts_with("cluster: "));
  auto foreign = record_of({}, 6);
  foreign.authorities = {key_of(91).public_key()};
  CHECK(read_next_trust(signed_record(foreign, 91), last).error().what.starts_with("by: "));
  CHECK_FALSE(sign_trust(record_of({}, 6), key_of(91)));
  // Signed by a known authority that the record itself drops.
  SignedRule rule = *read_signed_rule(signed_record(foreign, 91));
  CHECK_FALSE(read_next_trust(sign_rule(rule, key_of(trust_test::kAuthority)).value(), last));
  // A node's key is no authority's.
  CHECK_FALSE(read_next_trust(sign_rule(rule, key_of(1)).value(), last));
}

TEST_CASE("every change of a record on its way is found", "[cluster]") {
  const auto last = record_of({}, 1);
  const std::string text = signed_record(record_of({node_of("n1", 1, {{"acme"}})}, 2));
  REQUIRE(read_next_trust(text, last));
  for (size_t i = 0; i < text.size(); i++) {
    std::string wrong = text;
    wrong[i] = static_cast<char>(wrong[i] ^ 1);
    CHECK_FALSE(read_next_trust(wrong, last));
    CHECK_FALSE(read_next_trust(text.substr(0, i), last));
  }
  CHECK_FALSE(read_next_trust(text + "\n", last));
}

TEST_CASE("a new authority is known by those that know the old one", "[cluster]") {
  const auto last = record_of({node_of("n1", 1)}, 5);
  auto next = record_of({node_of("n1", 1)}, 9);  // this node was away: records between are missing
  next.authorities = {key_of(92).public_key()};
  const auto refused_by = [&](std::vector<Introduction> introductions) {
    next.introductions = std::move(introductions);
    return !read_next_trust(signed_record(next, 92), last);
  };
  const auto first = introduce("c1", key_of(91).public_key(), key_of(trust_test::kAuthority));
  const auto second = introduce("c1", key_of(92).public_key(), key_of(91));
  CHECK(refused_by({}));
  CHECK(refused_by({second}));
  CHECK(refused_by({first}));
  CHECK_FALSE(refused_by({first, second}));
  CHECK_FALSE(refused_by({second, first}));
  CHECK_FALSE(refused_by({introduce("c1", key_of(92).public_key(), key_of(trust_test::kAuthority))}));
  CHECK(refused_by({introduce("c2", key_of(92).public_key(), key_of(trust_test::kAuthority))}));
  CHECK(refused_by({introduce("c1", key_of(92).public_key(), key_of(92))}));
  auto claimed = introduce("c1", key_of(92).public_key(), key_of(93));
  claimed.by = key_of(trust_test::kAuthority).public_key();
  CHECK(refused_by({claimed}));
  // Once the new record is accepted, the old authority counts no more.
  next.introductions = {first, second};
  const auto now = read_next_trust(signed_record(next, 92), last);
  REQUIRE(now);
  auto late = record_of({node_of("n9", 9)}, 20);
  CHECK_FALSE(read_next_trust(signed_record(late), *now));
}

TEST_CASE("each node is a user of nats-server with its own subjects", "[cluster]") {
  const std::string users = nats_users(record_of({node_of("n1", 1), node_of("n2", 2)}, 4));
  CHECK(users.find("nkey: " + node_of("n1", 1).nats) != users.npos);
  const size_t n2 = users.find("# n2");
  REQUIRE(n2 != users.npos);
  const std::string first = users.substr(0, n2), second = users.substr(n2);
  CHECK(first.find("\"_INBOX.n1.>\"") != first.npos);
  CHECK(first.find("\"$KV.leases.n1\"") != first.npos);
  CHECK(first.find("n2") == first.npos);
  CHECK(second.find("n1") == second.npos);
  CHECK(second.find("\"$KV.homes.>\"") != second.npos);
}
