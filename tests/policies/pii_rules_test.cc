// The "pii" key of a policy: read whole or refused with the key that is wrong.
#include "policies/pii/rules.h"

#include "supervisor/base/json/json_value.h"
#include "tests/catch.h"

using policies::PiiRules;

namespace {

const Json kStandard = {{"answers", "as_is"}, {"restore", "nobody"}, {"lifetime_s", 604800}};

Json with(Json changes) {
  Json rules = kStandard;
  rules.update(changes);
  return rules;
}

std::string problem_of(const Json& object) {
  std::vector<Error> problems;
  policies::read_pii_rules(object, problems);
  return problems.empty() ? "" : problems.front().what;
}

std::string types_in(const Json& object, std::string_view text) {
  std::vector<Error> problems;
  const PiiRules rules = policies::read_pii_rules(object, problems);
  REQUIRE(problems.empty());
  std::string types;
  for (const auto& found : rules.detector->find(text)) types += std::string(found.type) + " ";
  return types;
}

}  // namespace

TEST_CASE("a policy says what personal data is and who may have it", "[policies][pii]") {
  std::vector<Error> problems;
  auto rules = policies::read_pii_rules(kStandard, problems);
  CHECK(problems.empty());
  CHECK(rules.answers == PiiRules::Answers::as_is);
  CHECK(rules.restore == PiiRules::Restore::no_user);
  CHECK(rules.lifetime == std::chrono::hours(7 * 24));
  CHECK(rules.detector == PiiRules::every_type());  // not compiled anew for each policy
  rules = policies::read_pii_rules(with({{"answers", "sanitised"}, {"restore", "code"}}), problems);
  CHECK(problems.empty());
  CHECK(rules.answers == PiiRules::Answers::sanitised);
  CHECK(rules.restore == PiiRules::Restore::code);
}

TEST_CASE("a policy has patterns, types and exceptions of its own", "[policies][pii]") {
  const std::string text = "E-123456 ada@lovelace.org help@acme.org 078-05-1120";
  const Json patterns = {{"employee_id", "\\b(E-\\d{6})\\b"}};
  CHECK(types_in(kStandard, text) == "email email ssn ");
  CHECK(types_in(with({{"patterns", patterns}}), text) == "employee_id email email ssn ");
  CHECK(types_in(with({{"patterns", patterns}, {"types", {"employee_id", "ssn"}}}), text) == "employee_id ssn ");
  CHECK(types_in(with({{"allowed", {"help@acme.org"}}}), text) == "email ssn ");
}

TEST_CASE("what is wrong with a policy's personal data is told with its key", "[policies][pii]") {
  auto [changes, message] = GENERATE(table<Json, std::string>({
      {{{"answers", "clean"}}, "pii.answers: "},
      {{{"restore", true}}, "pii.restore: "},
      {{{"lifetime_s", 59}}, "pii.lifetime_s: 59 is outside 60..315619200"},
      {{{"types", {"emial"}}}, "pii.types: 'emial' is not a type of personal data"},
      {{{"patterns", Json::array()}}, "pii.patterns: not an object"},
      {{{"patterns", {{"id", 1}}}}, "pii.patterns.id: not a string"},
      {{{"patterns", {{"id", "("}}}}, "pii.patterns.id: missing )"},
      {{{"patterns", {{"id", "x*"}}}}, "pii.patterns.id: matches the empty text"},
      {{{"patterns", {{"Id", "x"}}}}, "pii.patterns.Id: a type is 1 to 32 of a-z"},
      {{{"patterns", {{"id", "(?:ab?c?d?e?f?g?h?){900}"}}}}, "pii.patterns.id: compiled, it has "},
      {{{"patterns", {{"id", "((a{100}){100}){100}"}}}}, "pii.patterns.id: "},
      {{{"patterns", {{"id", std::string(2049, 'x')}}}}, "pii.patterns.id: longer than 2048 bytes"},
      {{{"restore", "agents"}, {"answers", "sanitised"}}, "pii.restore: \"agents\" contradicts"},
      {{{"answer", "as_is"}}, "pii.answer: unknown key"},
  }));
  CAPTURE(changes);
  CHECK_THAT(problem_of(with(changes)), Catch::StartsWith(message));
}

TEST_CASE("as many patterns as a policy may have, and no more", "[policies][pii]") {
  Json patterns = Json::object();
  for (int i = 0; i < 64; i++) patterns["p" + std::to_string(i)] = "x" + std::to_string(i);
  CHECK(problem_of(with({{"patterns", patterns}})).empty());
  patterns["q"] = "y";
  CHECK_THAT(problem_of(with({{"patterns", patterns}})), Catch::Contains("more than 64 patterns"));
}
