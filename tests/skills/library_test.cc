#include "skills/library.h"

#include "skills/search.h"

#include "tests/catch.h"
#include "tests/fresh_meter.h"
#include "tests/skills/scene.h"

using skills::Library;
using skills::Shared;

namespace {

struct Shelf : Scene {
  TempDirectory shipped;
  void ship(const std::string& slug, const std::string& description, const std::string& code) const {
    std::filesystem::create_directories(shipped.path() / slug / "scripts");
    std::ofstream(shipped.path() / slug / "SKILL.md")
        << "---\nname: " << slug << "\ndescription: " << description << "\n---\n";
    std::ofstream(shipped.path() / slug / "scripts" / (slug + ".py")) << code;
  }
  static std::vector<std::string> names(const std::vector<skills::SkillMatch>& match) {
    std::vector<std::string> names;
    for (const auto& item : match) names.push_back(item.skill->name);
    return names;
  }
};
using Names = std::vector<std::string>;

}  // namespace

TEST_CASE_METHOD(Shelf, "a tenant finds its own skills and the shared ones, its own first", "[skills]") {
  ship("csv", "Tables", "shared");
  ship("dates", "Days", "shared");
  Shared shared = Shared::load(shipped.path()).value();
  CHECK(shared.problems().empty());
  auto store = open();
  REQUIRE(save(store, draft("csv", "own"), limits));
  REQUIRE(save(store, draft("mail", "own"), limits));
  Library library(std::make_shared<Shared>(shared), std::make_shared<skills::SkillStore>(store));
  CHECK(names(library.all()) == Names{"csv", "dates", "mail"});
  CHECK(library.read_code(*library.find("csv"), 0).value() == "own");
  CHECK(library.read_code(*library.find("dates"), 0).value() == "shared");
  CHECK(library.find("dates")->own == nullptr);
  CHECK(library.read_code(*library.find("dates"), 2).error().code == Code::not_found);
  CHECK_FALSE(library.find("nothing"));
}

TEST_CASE_METHOD(Shelf, "a query finds words of names and descriptions, names first", "[skills]") {
  Shared shared;
  auto store = open();
  REQUIRE(save(store, draft("table_diff", "1", "Compares two lists of records"), limits));
  REQUIRE(save(store, draft("records_by_day", "1", "Groups by date"), limits));
  REQUIRE(save(store, draft("greet", "1", "Says hello"), limits));
  Library library(std::make_shared<Shared>(shared), std::make_shared<skills::SkillStore>(store));
  FreshMeter meter;
  CHECK(names(skills::search(library.all(), "Records", meter).value()) == Names{"records_by_day", "table_diff"});
  CHECK(names(skills::search(library.all(), "compare lists", meter).value()) == Names{"table_diff"});
  CHECK(skills::search(library.all(), "zebra", meter)->empty());
  CHECK(names(skills::fitting(library.all(), "compare lists", meter).value()) == Names{"table_diff"});
  CHECK(skills::fitting(library.all(), "compare zebra", meter)->empty());
  CHECK(skills::search(library.all(), "compare zebra", meter)->size() == 1);
  CHECK(skills::search(library.all(), "", meter)->size() == 3);
  CHECK(skills::search(library.all(), " ,;- ", meter)->size() == 3);
  CHECK(skills::search(library.all(), std::string(1 << 20, 'x'), meter)->empty());
}

TEST_CASE_METHOD(Shelf, "a shared skill that cannot be read is told; no folder is an error", "[skills]") {
  ship("good", "Fine", "1");
  ship("Bad", "Fine", "1");
  ship("bomb", "&a [*a]", "1");
  Shared shared = Shared::load(shipped.path()).value();
  CHECK(shared.find("good"));
  CHECK(shared.problems().size() == 2);
  CHECK_FALSE(Shared::load(shipped.path() / "none"));
}

TEST_CASE("URIs name skills and their files, and nothing else", "[skills]") {
  auto uri = skills::parse_uri("skill://pdf-forms/scripts/x.py");
  REQUIRE(uri);
  CHECK(uri->slug == "pdf-forms");
  CHECK(uri->path == "scripts/x.py");
  CHECK(skills::parse_uri("skill://pdf-forms")->path.empty());
  CHECK(skills::uri_of("pdf-forms", "scripts/x.py") == "skill://pdf-forms/scripts/x.py");
  CHECK(skills::uri_of("pdf-forms", "") == "skill://pdf-forms");
  for (const char* bad : {"", "skill:", "skill://", "skill:///etc/passwd", "skill://a/../b/SKILL.md",
                          "skill://a//SKILL.md", "skill://a/", "skill://A/SKILL.md", "skill://a/%2e%2e/x",
                          "skill://a/.hidden", "http://a/b", "skill://a/b c", "skill://a_b/SKILL.md"}) {
    CAPTURE(bad);
    CHECK_FALSE(skills::parse_uri(bad));
  }
  CHECK_FALSE(skills::parse_uri("skill://a/" + std::string(10'000, 'x')));
}

TEST_CASE("a folder's children are files and folders", "[skills]") {
  skills::Skill skill;
  for (const char* path : {"SKILL.md", "a/b/c.md", "a/d.md", "scripts/x.py"}) skill.files.push_back({path, 1, ""});
  CHECK(skills::children(skill, "") == Names{"SKILL.md", "a/", "scripts/"});
  CHECK(skills::children(skill, "a") == Names{"b/", "d.md"});
  CHECK_FALSE(skills::children(skill, "SKILL.md"));
  CHECK_FALSE(skills::children(skill, "b"));
}

TEST_CASE("what we ship can be read, every bit of it", "[skills]") {
  auto shared = Shared::load(WARDER_SOURCE_DIR "/skills/shared");
  REQUIRE(shared);
  CHECK(shared->problems() == Names{});
  auto directory = TempDirectory();
  auto store = skills::SkillStore::open(open_directory(directory.path()).value()).value();
  auto all = Library(std::make_shared<Shared>(*shared), std::make_shared<skills::SkillStore>(store)).all();
  CHECK(all.size() >= 10);
  for (const auto& item : all) {
    CAPTURE(item.skill->name);
    CHECK(item.skill->language != skills::SkillLanguage::none);
    CHECK(shared->read(*item.skill, "SKILL.md")->find("## Example") != std::string::npos);
  }
}
