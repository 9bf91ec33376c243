// Rules on the disk: what a node accepts, and what it starts from.
#include "supervisor/cluster/trust/rule_store.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "supervisor/cluster/trust/private_file.h"
#include "tests/catch.h"
#include "tests/supervisor/cluster/trust_fixture.h"
#include "tests/temp_directory.h"

using namespace cluster;
using trust_test::key_of;
using trust_test::node_of;
using trust_test::record_of;
using trust_test::signed_record;
using Accepted = RuleStore::Accepted;

namespace {

struct StoredRules {
  StoredRules() {
    REQUIRE(::mkdir(folder.c_str(), 0700) == 0);
    write(anchor, signed_record(record_of({node_of("n1", 1), node_of("n2", 2)}, 2)));
  }
  static void write(const std::string& path, const std::string& text) {
    REQUIRE(write_whole_file(path, text, 0600, Existing::replace));
  }
  Result<RuleStore> open() const { return RuleStore::open(anchor, folder); }
  static std::string policy(const std::string& name, int64_t serial, const std::string& content,
                            unsigned char authority = trust_test::kAuthority, const std::string& kind = "policy") {
    SignedRule rule;
    rule.kind = kind;
    rule.cluster = "c1";
    rule.name = name;
    rule.serial = serial;
    rule.content = content;
    return sign_rule(rule, key_of(authority)).value();
  }

  TempDirectory temporary;
  std::string root = std::filesystem::canonical(std::string(temporary.path()));
  std::string anchor = root + "/anchor", folder = root + "/state";
};

}  // namespace

TEST_CASE_METHOD(StoredRules, "a node starts from the last record that it accepted", "[cluster]") {
  auto store = open();
  REQUIRE(store);
  CHECK(store->trust().serial == 2);
  const std::string next = signed_record(record_of({node_of("n2", 2)}, 3));
  CHECK(store->accept(next) == Accepted::stored);
  CHECK(store->accept(next) == Accepted::unchanged);
  CHECK(store->accept(signed_record(record_of({node_of("n1", 1)}, 3))).error().what.starts_with("serial"));
  CHECK(store->accept(signed_record(record_of({node_of("n1", 1)}, 2))).error().what.starts_with("serial"));
  CHECK((store->trust().serial == 3 && store->trust_text() == next));
  struct stat info {};
  REQUIRE(::stat((folder + "/trust.record").c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0600);

  store = open();
  REQUIRE(store);
  CHECK((store->trust().serial == 3 && store->trust_text() == next && !store->trust().find("n1")));
  // Root brings a newer one.
  write(anchor, signed_record(record_of({}, 4)));
  CHECK(open()->trust().serial == 4);
}

TEST_CASE_METHOD(StoredRules, "a stored record that cannot be read ends the start", "[cluster]") {
  REQUIRE(open()->accept(signed_record(record_of({}, 3))) == Accepted::stored);
  const std::string path = folder + "/trust.record";
  const std::string good = *read_private_file(path);
  auto foreign = record_of({node_of("n9", 9)}, 7);
  foreign.authorities = {key_of(91).public_key()};
  auto other = record_of({}, 9);
  other.cluster = "c2";
  for (const std::string& text :
       {std::string(), good.substr(0, 100), signed_record(foreign, 91), signed_record(other)}) {
    write(path, text);
    const auto refused = open();
    REQUIRE_FALSE(refused);
    CHECK(refused.error().what.starts_with(path));
    CHECK(refused.error().hint.find(anchor) != std::string::npos);
  }
  write(path, good);
  REQUIRE(::chmod(path.c_str(), 0666) == 0);
  CHECK(open().error().code == Code::denied);
  REQUIRE(::unlink(path.c_str()) == 0);
  CHECK(open()->trust().serial == 2);
  REQUIRE(::unlink(anchor.c_str()) == 0);
  CHECK(open().error().code == Code::not_found);
}

TEST_CASE_METHOD(StoredRules, "policies are accepted from authorities, newer ones only", "[cluster]") {
  auto store = open();
  REQUIRE(store);
  CHECK(store->accept(policy("strict", 2, "{}")) == Accepted::stored);
  CHECK(store->accept(policy("strict", 2, "{}")) == Accepted::unchanged);
  CHECK(store->accept(policy("strict", 2, "{ }")).error().what.starts_with("serial"));
  CHECK(store->accept(policy("strict", 1, "{}")).error().what.starts_with("serial"));
  CHECK(store->accept(policy("strict", 3, "{}", 1)).error().what.starts_with("by"));  // a node's key
  CHECK(store->accept(policy("c1", 9, "{}", trust_test::kAuthority, "unknown")).error().what.starts_with("kind"));
  CHECK(store->accept("").error().code == Code::invalid);
  CHECK(store->find({"policy", "strict"})->content == "{}");
  CHECK(store->accept(policy("strict", 5, "")) == Accepted::stored);  // withdrawn
  CHECK(store->accept(policy("strict", 4, "{}")).error().what.starts_with("serial"));
  CHECK(store->find({"policy", "none"}) == nullptr);

  store = open();
  REQUIRE(store);
  CHECK(store->find({"policy", "strict"})->serial == 5);
  CHECK(store->accept(policy("strict", 4, "{}")).error().what.starts_with("serial"));
  // A file under another name would count for another policy.
  std::filesystem::rename(folder + "/policy-strict.rule", folder + "/policy-other.rule");
  CHECK(open().error().what.find("policy-other.rule") != std::string::npos);
}

TEST_CASE_METHOD(StoredRules, "policies of a replaced authority stay in force, and no new ones come", "[cluster]") {
  auto store = open();
  REQUIRE(store->accept(policy("strict", 2, "{}")));
  auto next = record_of({node_of("n1", 1)}, 3);
  next.authorities = {key_of(91).public_key()};
  next.introductions = {introduce("c1", key_of(91).public_key(), key_of(trust_test::kAuthority))};
  CHECK(store->accept(signed_record(next, 91)) == Accepted::stored);
  CHECK(store->accept(policy("strict", 3, "{}")).error().what.starts_with("by"));
  store = open();
  REQUIRE(store);
  CHECK(store->trust().serial == 3);
  CHECK(store->find({"policy", "strict"})->serial == 2);
  CHECK(store->accept(policy("strict", 3, "{}", 91)) == Accepted::stored);
  // Without the introduction, the old authority is unknown.
  write(anchor, signed_record(
                    [] {
                      auto cut = record_of({}, 4);
                      cut.authorities = {key_of(91).public_key()};
                      return cut;
                    }(),
                    91));
  CHECK(open());
  write(folder + "/policy-strict.rule", policy("strict", 9, "{}"));
  CHECK(open().error().code == Code::denied);
}

TEST_CASE_METHOD(StoredRules, "a rule that cannot be stored is not in force", "[cluster]") {
  auto store = open();
  REQUIRE(store);
  std::filesystem::remove(folder);
  CHECK_FALSE(store->accept(signed_record(record_of({}, 3))));
  CHECK_FALSE(store->accept(policy("strict", 2, "{}")));
  CHECK((store->trust().serial == 2 && store->rules().empty()));
}
