// The cluster's rules as warderd uses them: only what an authority of this machine's trust record has signed.
#include "supervisor/cluster/link/rule_files.h"

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

namespace {

std::string rule(const std::string& kind, const std::string& name, int64_t serial, const std::string& content,
                 unsigned char authority = trust_test::kAuthority) {
  SignedRule signed_rule;
  signed_rule.kind = kind;
  signed_rule.cluster = "c1";
  signed_rule.name = name;
  signed_rule.serial = serial;
  signed_rule.content = content;
  return sign_rule(signed_rule, key_of(authority)).value();
}

struct Machine {
  Machine() {
    REQUIRE(write_whole_file(anchor, signed_record(record_of({node_of("n1", 1)}, 2)), 0644, Existing::replace));
  }
  std::string policy(const std::string& name) const {
    std::ifstream file(root + "/cluster/policies/" + name + ".json");
    return {std::istreambuf_iterator<char>(file), {}};
  }
  TempDirectory temporary;
  std::string root = std::filesystem::canonical(std::string(temporary.path()));
  std::string anchor = root + "/anchor";
};

}  // namespace

TEST_CASE_METHOD(Machine, "policies that an authority has signed become files", "[cluster]") {
  auto files = RuleFiles::open(anchor, root);
  REQUIRE(files);
  const std::string strict = rule("policy", "strict", 1, R"({"a":1})");
  auto reserved = files->take({strict, rule("policy", "forged", 1, "{}", 1), rule("policy", "tenants", 1, "{}"),
                               rule("policy", "list", 1, "[]"), "no rule"});
  REQUIRE(reserved);
  CHECK((reserved->policies == std::vector<std::string>{"strict"} && !reserved->has_catalog_changed));
  REQUIRE(files->apply(reserved->policies));
  CHECK(reserved->refused.size() == 4);
  CHECK(policy("strict") == R"({"a":1})");
  for (const char* name : {"forged", "tenants", "list"}) CHECK(policy(name).empty());
  CHECK(files->take({strict})->policies.empty());
  CHECK(files->take({})->policies.empty());  // nobody takes a rule back by saying nothing

  SECTION("a newer one replaces it, and an older one does not") {
    CHECK(files->apply(files->take({rule("policy", "strict", 3, R"({"a":3})")})->policies));
    CHECK(files->take({rule("policy", "strict", 2, R"({"a":2})")})->policies.empty());
    CHECK(policy("strict") == R"({"a":3})");
  }
  SECTION("the files from before come back") {
    const auto next = files->take({rule("policy", "strict", 2, R"({"a":2})"), rule("policy", "more", 1, "{}")});
    REQUIRE(next);
    CHECK(next->policies == std::vector<std::string>{"more", "strict"});
    CHECK(files->apply(next->policies));
    CHECK(policy("more") == "{}");
    CHECK(files->undo(next->policies));
    CHECK(policy("strict") == R"({"a":1})");
    CHECK(policy("more").empty());
  }
  SECTION("a withdrawn one is removed") {
    CHECK(files->apply(files->take({rule("policy", "strict", 2, "")})->policies));
    CHECK_FALSE(std::filesystem::exists(root + "/cluster/policies/strict.json"));
  }
  SECTION("a restart has the same rules") {
    auto retry = RuleFiles::open(anchor, root);
    REQUIRE(retry);
    CHECK(retry->take({})->policies.empty());
    REQUIRE(retry->clear());
    CHECK(policy("strict").empty());
    CHECK(retry->apply(retry->take({})->policies));
    CHECK(policy("strict") == R"({"a":1})");
  }
}

TEST_CASE_METHOD(Machine, "definitions that an authority has signed are read", "[cluster]") {
  auto files = RuleFiles::open(anchor, root);
  REQUIRE(files);
  CHECK(files
            ->take({rule("catalog", "weather", 1, R"({"tools": [{"name": "snow", "description": "How much."}]})"),
                    rule("catalog", "broken", 1, "{")})
            ->has_catalog_changed);
  std::vector<std::string> refused;
  const RuleDefinitions all = files->definitions(refused);
  REQUIRE(all.size() == 1);
  CHECK(all.front().second->tools.front().name == "snow");
  CHECK(all.front().second->tools.front().server == "weather");
  CHECK(refused.size() == 1);
}

TEST_CASE_METHOD(Machine, "skills that an authority has signed are in force until they are withdrawn", "[cluster]") {
  const auto skill = [](const std::string& code) {
    return R"({"files":{"SKILL.md":"---\nname: report\ndescription: d\n---\n","scripts/report.py":")" + code + "\"}}";
  };
  const auto code_of = [](const skills::Shared& all) {
    const std::shared_ptr<const skills::Skill> it = all.find("report");
    return it ? all.read(*it, "scripts/report.py").value_or("") : "";
  };
  std::vector<std::string> refused;
  auto files = RuleFiles::open(anchor, root);
  REQUIRE(files);
  CHECK(files
            ->take({rule("skill", "report", 1, skill("one")), rule("skill", "forged", 1, skill("x"), 1),
                    rule("skill", "other", 1, skill("x"))})
            ->have_skills_changed);
  CHECK(files->write_skills(refused).value());
  REQUIRE(refused.size() == 1);
  CHECK(refused.front().starts_with("the skill 'other'"));
  CHECK(code_of(*files->read_skills()) == "one");
  CHECK(files->read_skills()->size() == 1);
  CHECK_FALSE(files->write_skills(refused).value());

  SECTION("one that cannot be read leaves the one before") {
    CHECK(files->take({rule("skill", "report", 2, "{}")})->have_skills_changed);
    refused.clear();
    CHECK_FALSE(files->write_skills(refused).value());
    CHECK(refused.size() == 2);
    files = RuleFiles::open(anchor, root);
    CHECK_FALSE(files->take({})->have_skills_changed);
    CHECK_FALSE(files->write_skills(refused).value());
    CHECK(code_of(*files->read_skills()) == "one");
    CHECK(files->take({rule("skill", "report", 3, skill("three"))}));
    CHECK(files->write_skills(refused).value());
    CHECK(code_of(*files->read_skills()) == "three");
  }
  SECTION("one that is withdrawn is gone, and one that nobody signed") {
    CHECK(write_whole_file(root + "/cluster/skills/stray.json", skill("x"), 0600, Existing::replace));
    CHECK(files->take({rule("skill", "report", 2, "")}));
    CHECK(files->write_skills(refused).value());
    CHECK(files->read_skills()->size() == 0);
    CHECK(std::filesystem::is_empty(root + "/cluster/skills"));
  }
}

TEST_CASE_METHOD(Machine, "a cluster has not more skills than a search can look at", "[cluster]") {
  std::vector<std::string> rules, refused;
  for (size_t i = 0; i <= kMaxRuleSkills; i++) {
    const std::string name = "s" + std::to_string(1000 + i);
    rules.push_back(
        rule("skill", name, 1, R"({"files":{"SKILL.md":"---\nname: )" + name + R"(\ndescription: d\n---\n"}})"));
  }
  auto files = RuleFiles::open(anchor, root);
  REQUIRE(files->take(rules));
  CHECK(files->write_skills(refused).value());
  CHECK((refused.size() == 1 && refused.front().find("s1200") != std::string::npos));
  CHECK(files->read_skills()->size() == kMaxRuleSkills);
}
