// The public test suite of JSON Schema, draft 2020-12, as Debian packages it (libtest-json-schema-acceptance-perl):
// every case of its required part. What is not as the suite wants it is listed by name with its reason, and the list
// must be exact: a case that has come right fails until it is taken out.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "policies/schema/json_schema.h"
#include "supervisor/base/json/json_value.h"
#include "tests/catch.h"
#include "tests/fresh_meter.h"

using namespace policies;

namespace {

namespace fs = std::filesystem;
constexpr char kSuite[] = "/usr/share/perl5/auto/share/dist/Test-JSON-Schema-Acceptance/tests/draft2020-12";

// Groups, as "file: group".
// The dialect's own schema is not carried: no tool's arguments are schemas.
const std::set<std::string> kNeedTheMetaschema{
    "anchor: invalid anchors",
    "defs: validate definition against metaschema",
    "id: Invalid use of fragments in location-independent $id",
    "id: Valid use of empty fragments in location-independent $id",
    "id: Unnormalized $ids are allowed but discouraged",
    "ref: remote ref, containing refs itself",
    "ref: URN base URI with f-component",
};
// Nothing is ever fetched; the suite's answer on localhost.
const std::set<std::string> kNeedAnotherDocument{
    "dynamicRef: strict-tree schema, guards against misspelled properties",
    "dynamicRef: tests for implementation dynamic anchor and reference link",
    "dynamicRef: $ref and $dynamicAnchor are independent of order - $defs first",
    "dynamicRef: $ref and $dynamicAnchor are independent of order - $ref first",
    "refRemote: remote ref",
    "refRemote: fragment within remote ref",
    "refRemote: anchor within remote ref",
    "refRemote: ref within remote ref",
    "refRemote: base URI change",
    "refRemote: base URI change - change folder",
    "refRemote: base URI change - change folder in subschema",
    "refRemote: root ref in remote ref",
    "refRemote: remote ref with ref to defs",
    "refRemote: Location-independent identifier in remote ref",
    "refRemote: retrieved nested refs resolve relative to their URI not $id",
    "refRemote: remote HTTP ref with different $id",
    "refRemote: remote HTTP ref with different URN $id",
    "refRemote: remote HTTP ref with nested absolute ref",
};
// Vocabularies are declared by metaschemas, which are not read: every keyword means what it means in the standard
// dialect.
const std::set<std::string> kOtherwise{
    "vocabulary: schema that uses custom metaschema with with no validation vocabulary: no validation: invalid number, "
    "but it still validates",
};

struct Run {
  size_t tests = 0;
  std::set<std::string> need_the_metaschema, need_another_document, refused, otherwise;
};

void run_group(const std::string& file, const Json& group, Run& run) {
  const std::string where = file + ": " + group.at("description").get<std::string>();
  auto schema =
      JsonSchema::compile(std::make_shared<const Json>(group.at("schema")), JsonSchema::Unknown::refuse, FreshMeter());
  if (!schema) {
    const std::string& subject = schema.error().what;
    if (subject.find("leads to no schema of this document") == subject.npos) {
      run.refused.insert(where + ": " + subject);
    } else {
      const bool metaschema = subject.find("'https://json-schema.org/draft/2020-12/") != subject.npos;
      (metaschema ? run.need_the_metaschema : run.need_another_document).insert(where);
    }
    return;
  }
  for (const auto& test : group.at("tests")) {
    run.tests++;
    const bool fits = (*schema)->check(test.at("data"), FreshMeter()).has_value();
    if (fits != test.at("valid").get<bool>())
      run.otherwise.insert(where + ": " + test.at("description").get<std::string>());
  }
}

}  // namespace

TEST_CASE("the public suite's cases come out as it says, but for those that are listed with a reason") {
  if (!fs::exists(kSuite)) {
    std::printf("SKIPPED-ALL-NEEDS the suite: apt-get install libtest-json-schema-acceptance-perl\n");
    std::exit(0);
  }
  Run run;
  for (const auto& file : fs::directory_iterator(kSuite)) {
    if (file.path().extension() != ".json") continue;
    std::ifstream in(file.path());
    for (const auto& group : Json::parse(in)) run_group(file.path().stem(), group, run);
  }
  CHECK(run.need_the_metaschema == kNeedTheMetaschema);
  CHECK(run.need_another_document == kNeedAnotherDocument);
  CHECK(run.refused == std::set<std::string>{});
  CHECK(run.otherwise == kOtherwise);
  CHECK(run.tests > 1000);
}
