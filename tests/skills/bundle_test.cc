// A skill as one text: what is written is read as the same skill, and hostile texts are refused.
#include "skills/bundle.h"

#include "skills/library.h"
#include "supervisor/base/json/json.h"
#include "tests/catch.h"
#include "tests/skills/scene.h"

namespace {

constexpr char kHeadOfReport[] = "---\nname: fleet-report\ndescription: What the fleet did\n---\n";

std::string bundle_of(const Json& files) { return dump_json({{"files", files}}); }

}  // namespace

TEST_CASE_METHOD(Scene, "a skill becomes a text, and the same skill again", "[skills]") {
  write("SKILL.md", kHeadOfReport);
  write("scripts/fleet_report.py", "def fleet_report():\n    return '\u00e9'\n");
  write("data/a/b/empty.csv", "");
  const Fd folder = open_directory(top.path()).value();
  const auto text = skills::write_bundle(folder.get(), "fleet-report");
  REQUIRE(text);
  const auto bundle = skills::read_bundle(*text, "fleet-report");
  REQUIRE(bundle);
  const auto same = skills::read_skill(folder.get(), "fleet-report").value();
  CHECK((bundle->skill.name == "fleet_report" && bundle->skill.code_file == "scripts/fleet_report.py"));
  REQUIRE(bundle->skill.files.size() == same.files.size());
  for (size_t i = 0; i < same.files.size(); i++) {
    CHECK((bundle->skill.files[i].path == same.files[i].path && bundle->skill.files[i].digest == same.files[i].digest));
    CHECK(bundle->contents.at(same.files[i].path) == read(same.files[i].path));
  }
  CHECK(skills::write_bundle(folder.get(), "other-name").error().what.find("not the name") != std::string::npos);
  CHECK(skills::write_bundle(folder.get(), "Fleet").error().hint.find("fleet-report") != std::string::npos);
  write("binary", "\xff");
  CHECK(skills::write_bundle(folder.get(), "fleet-report").error().what == "binary is not UTF-8 text");
}

TEST_CASE("a text that is no skill is refused, and says why", "[skills]") {
  const auto [files, why] = GENERATE(table<Json, const char*>({
      {Json::object(), "no SKILL.md"},
      {Json::array(), "not an object"},
      {{{"SKILL.md", 1}}, "no text"},
      {{{"SKILL.md", kHeadOfReport}, {"../x", ""}}, "valid name"},
      {{{"SKILL.md", kHeadOfReport}, {"a//x", ""}}, "valid name"},
      {{{"SKILL.md", kHeadOfReport}, {"/x", ""}}, "valid name"},
      {{{"SKILL.md", kHeadOfReport}, {"a/", ""}}, "valid name"},
      {{{"SKILL.md", kHeadOfReport}, {"", ""}}, "valid name"},
      {{{"SKILL.md", kHeadOfReport}, {"a/.hidden", ""}}, "valid name"},
      {{{"SKILL.md", kHeadOfReport}, {"a", ""}, {"a/b", ""}}, "a file and a folder"},
      {{{"SKILL.md", kHeadOfReport}, {"a/b/c/d/e/f", ""}}, "too deep"},
      {{{"SKILL.md", "---\nname: other\ndescription: x\n---\n"}}, "not the name"},
      {{{"SKILL.md", "no head"}}, ""},
  }));
  const auto read = skills::read_bundle(bundle_of(files), "fleet-report");
  REQUIRE_FALSE(read);
  CAPTURE(read.error().what);
  CHECK(read.error().what.find(why) != std::string::npos);
}

TEST_CASE("a text of another form is refused", "[skills]") {
  const std::string good = bundle_of({{"SKILL.md", kHeadOfReport}});
  CHECK(skills::read_bundle(good, "fleet-report"));
  for (const char* text : {"", "[]", "{}", R"({"files": {}, "more": 1})", "{\"files\": "})
    CHECK_FALSE(skills::read_bundle(text, "fleet-report"));
  CHECK_FALSE(skills::read_bundle(good, "fleet_report"));
  Json many = {{"SKILL.md", kHeadOfReport}};
  for (size_t i = 0; i < skills::kMaxFiles; i++) many["f" + std::to_string(i)] = "";
  CHECK(skills::read_bundle(bundle_of(many), "fleet-report").error().code == Code::exhausted);
}

TEST_CASE("shared skills are added to others, and those that are there stay", "[skills]") {
  const auto created = [](const char* content) {
    skills::FileContents files{{"SKILL.md", kHeadOfReport}, {"scripts/fleet_report.py", content}};
    return skills::make_whole_skill("fleet-report", std::move(files)).value();
  };
  skills::Shared shipped, more;
  CHECK(more.add(created("more")));
  CHECK(shipped.add(more).empty());
  CHECK_FALSE(shipped.add(created("other")));
  CHECK(shipped.add(more) == std::vector<std::string>{"fleet-report"});
  REQUIRE(shipped.find("fleet_report"));
  CHECK(shipped.read(*shipped.find("fleet_report"), "scripts/fleet_report.py").value() == "more");
}
