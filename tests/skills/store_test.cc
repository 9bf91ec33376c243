#include "skills/store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "skills/digest.h"
#include "skills/front_matter.h"
#include "skills/name.h"
#include "tests/catch.h"
#include "tests/skills/scene.h"

namespace fs = std::filesystem;
using skills::SkillStore;

TEST_CASE_METHOD(Scene, "a saved skill is a folder in the Agent Skills format, and is there after a restart",
                 "[skills]") {
  {
    SkillStore store = open();
    auto saved = save(store, draft("filter_High_risk", "def f(): pass\n", "Only \"high\": ones\nand more"), limits);
    REQUIRE(saved);
    CHECK(saved->saved == SkillStore::Saved::first);
  }
  SkillStore store = open();
  REQUIRE(store.entries().size() == 1);
  const SkillStore::EntryPtr entry = store.find("filter_High_risk");
  REQUIRE(entry);
  CHECK(store.find("filter-high-risk") == entry);
  CHECK(entry->skill.name == "filter_High_risk");
  CHECK(entry->skill.slug == "filter-high-risk");
  CHECK(entry->skill.description == "Only \"high\": ones\nand more");
  CHECK(entry->skill.created == "2026-11-21T12:00:00Z");
  CHECK(entry->skill.language == skills::SkillLanguage::python);
  CHECK(store.read_code(*entry, 1).value() == "def f(): pass\n");
  REQUIRE(entry->skill.files.size() == 2);
  CHECK(entry->skill.files[0].path == "SKILL.md");
  CHECK(entry->skill.files[1].path == "scripts/filter_High_risk.py");
  CHECK(entry->skill.files[1].size == 14);
  CHECK(entry->skill.files[1].digest == skills::digest_of("def f(): pass\n"));
  const std::string head = read("filter-high-risk/000001/SKILL.md");
  CHECK(entry->skill.files[0].digest == skills::digest_of(head));
  CHECK(skills::parse_front_matter(head)->fields == entry->skill.front_matter);
  CHECK(entry->skill.front_matter["name"] == "filter-high-risk");
  CHECK(store.problems().empty());
}

TEST_CASE("digests are those of sha256sum", "[skills]") {
  CHECK(skills::digest_of("abc") == "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_CASE_METHOD(Scene, "a skill keeps its last versions, and the same again is none", "[skills]") {
  SkillStore store = open();
  for (int i = 1; i <= 5; i++)
    REQUIRE(save(store, draft("x", fmt::format("v = {}\n", i)), limits)->entry->version() == static_cast<uint32_t>(i));
  CHECK(save(store, draft("x", "v = 5\n"), limits)->saved == SkillStore::Saved::same);
  CHECK(save(store, draft("x", "v = 5\n", "Told otherwise"), limits)->saved == SkillStore::Saved::another);
  SkillStore retry = open();
  for (const SkillStore* skill_store : {&store, &retry}) {
    const SkillStore::EntryPtr entry = skill_store->find("x");
    REQUIRE(entry->versions.size() == 3);
    CHECK(entry->versions.front().number == 4);
    CHECK(entry->version() == 6);
    CHECK(skill_store->read_code(*entry, 4).value() == "v = 4\n");
    CHECK(skill_store->read_code(*entry, 6).value() == "v = 5\n");
    CHECK(skill_store->read_code(*entry, 3).error().code == Code::not_found);
    CHECK(skill_store->bytes() == store.bytes());
  }
}

TEST_CASE_METHOD(Scene, "names are one when they differ in case and underscores only", "[skills]") {
  SkillStore store = open();
  REQUIRE(save(store, draft("my_skill", "1"), limits));
  auto refused = save(store, draft("My__Skill_", "2"), limits);
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().what, Catch::Contains("'my_skill'"));
  CHECK(store.read_code(*store.find("my_skill"), 1).value() == "1");
}

TEST_CASE_METHOD(Scene, "names that are none never reach the disk", "[skills]") {
  SkillStore store = open();
  std::string name = GENERATE(std::string(), "../x", "a/b", "a.b", "a-b", "/etc/passwd", "1a", "_", "__", ".new", "é",
                              std::string("a\0b", 3), "a\n", std::string(65, 'a'), "a b", "\xff");
  CAPTURE(name);
  auto refused = save(store, draft(name, "1"), limits);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::invalid);
  CHECK(refused.error().what == "Invalid skill name. Use alphanumeric and underscores only.");
  CHECK(fs::is_empty(top.path()));
  CHECK(store.find(name) == nullptr);
  CHECK(remove(store, name).error().code == Code::not_found);
}

TEST_CASE_METHOD(Scene, "code and descriptions are bounded text", "[skills]") {
  SkillStore store = open();
  CHECK(save(store, draft("x", std::string("a\0b", 3)), limits).error().code == Code::invalid);
  CHECK(save(store, draft("x", "\xc3\x28"), limits).error().code == Code::invalid);
  CHECK(save(store, draft("x", ""), limits).error().code == Code::invalid);
  CHECK(save(store, draft("x", std::string(skills::kMaxCodeBytes + 1, ' ')), limits).error().rule == "skills.code");
  CHECK(save(store, draft("x", "1", std::string(1025, 'd')), limits).error().code == Code::invalid);
  CHECK(save(store, draft("x", "1", "---\nname: other\n---\n: - & * ! \" ' \\ \x7f \xe2\x80\xa8"), limits));
  CHECK(open().find("x")->skill.description == "---\nname: other\n---\n: - & * ! \" ' \\ \x7f \xe2\x80\xa8");
  CHECK(save(store, draft("y", "1", ""), limits)->entry->skill.description.empty());
  CHECK(open().find("y")->skill.description.empty());
}

TEST_CASE_METHOD(Scene, "what a tenant may keep is counted with the older versions, and nothing is half written",
                 "[skills]") {
  limits = {4096, 2, 3};
  SkillStore store = open();
  REQUIRE(save(store, draft("a", std::string(1000, 'a')), limits));
  REQUIRE(save(store, draft("b", "b"), limits));
  auto third = save(store, draft("c", "c"), limits);
  REQUIRE_FALSE(third);
  CHECK(third.error().rule == "skills.count");
  auto large = save(store, draft("a", std::string(3000, 'x')), limits);
  REQUIRE_FALSE(large);
  CHECK(large.error().rule == "skills.bytes");
  CHECK(store.find("a")->version() == 1);
  CHECK_FALSE(fs::exists(top.path() / "a/000002"));
  CHECK_FALSE(fs::exists(top.path() / "c"));
  REQUIRE(remove(store, "a"));
  CHECK(save(store, draft("c", std::string(2000, 'x')), limits));
}

TEST_CASE_METHOD(Scene, "versions that a new one pushes out make room for it", "[skills]") {
  limits = {4096, 2, 2};
  SkillStore store = open();
  for (int i = 0; i < 10; i++) REQUIRE(save(store, draft("a", fmt::format("{}{}", i, std::string(1000, 'a'))), limits));
  CHECK(store.find("a")->versions.size() == 2);
}

TEST_CASE_METHOD(Scene, "a removed skill is gone, also after a restart, and its name is free", "[skills]") {
  SkillStore store = open();
  REQUIRE(save(store, draft("x", "1"), limits));
  REQUIRE(remove(store, "x"));
  CHECK(store.entries().empty());
  CHECK(fs::is_empty(top.path()));
  CHECK(remove(store, "x").error().what == "Skill not found: x");
  CHECK(save(store, draft("x", "2"), limits)->entry->version() == 1);
}

TEST_CASE_METHOD(Scene, "what the end of a daemon leaves behind is no skill", "[skills]") {
  {
    SkillStore store = open();
    REQUIRE(save(store, draft("x", "1"), limits));
  }
  write("x/.new/SKILL.md", "half");        // in the middle of a save
  write("y/.new/scripts/y.py", "half");    // in the middle of a first save
  write(".gone/000001/SKILL.md", "half");  // in the middle of a removal
  SkillStore store = open();
  CHECK(store.entries().size() == 1);
  CHECK(store.problems().empty());
  CHECK_FALSE(fs::exists(top.path() / ".gone"));
  CHECK(save(store, draft("x", "2"), limits)->entry->version() == 2);
  CHECK(save(store, draft("y", "1"), limits)->entry->version() == 1);
}

TEST_CASE_METHOD(Scene, "what cannot be read is told and left out; the rest serves", "[skills]") {
  {
    SkillStore store = open();
    REQUIRE(save(store, draft("good", "1"), limits));
    REQUIRE(save(store, draft("fallen", "1"), limits));
    REQUIRE(save(store, draft("fallen", "2"), limits));
  }
  const std::string head = "---\nname: \"{}\"\ndescription: d\n---\n";
  auto head_of = [](const char* name) { return fmt::format("---\nname: {}\ndescription: d\n---\n", name); };
  write("fallen/000002/SKILL.md", "damaged");
  write("no-head/000001/scripts/x.py", "1");
  write("other-name/000001/SKILL.md", head_of("another"));
  write("no-description/000001/SKILL.md", "---\nname: no-description\n---\n");
  write("hidden/000001/SKILL.md", head_of("hidden"));
  write("hidden/000001/.secret", "1");
  write("Not A Slug/000001/SKILL.md", head_of("x"));
  write("link/000001/SKILL.md", head_of("link"));
  fs::create_symlink("/etc/passwd", top.path() / "link/000001/passwd");
  write("fifo/000001/SKILL.md", head_of("fifo"));
  REQUIRE(::mkfifo((top.path() / "fifo/000001/pipe").c_str(), 0600) == 0);
  write("huge/000001/SKILL.md", head_of("huge"));
  fs::resize_file(top.path() / "huge/000001/SKILL.md", (16 << 20) + 1);  // a hole
  fs::create_directory_symlink(top.path() / "good", top.path() / "linked");
  write("a-file", "");
  std::string deep = "deep/000001/";
  write(deep + "SKILL.md", head_of("deep"));
  for (int i = 0; i < 8; i++) deep += "d/";
  write(deep + "x", "");

  SkillStore store = open();
  REQUIRE(store.entries().size() == 2);
  CHECK(store.read_code(*store.find("good"), 1).value() == "1");
  CHECK(store.find("fallen")->version() == 1);  // the newest that can be read
  CHECK(store.problems().size() == 12);
  for (const char* name : {"fallen", "no-head", "other-name", "no-description", "hidden", "link", "fifo", "huge",
                           "linked", "a-file", "deep"}) {
    CAPTURE(name);
    CHECK(std::any_of(store.problems().begin(), store.problems().end(), [&](const std::string& problem) {
      return problem.starts_with(fmt::format("skill '{}'", name));
    }));
  }
}

TEST_CASE_METHOD(Scene, "a file that changed behind our back is not served as what it was", "[skills]") {
  SkillStore store = open();
  REQUIRE(save(store, draft("x", "1"), limits));
  write("x/000001/scripts/x.py", "2");
  CHECK(store.read_code(*store.find("x"), 1).error().code == Code::unavailable);
  fs::remove(top.path() / "x/000001/scripts/x.py");
  fs::create_symlink("/etc/passwd", top.path() / "x/000001/scripts/x.py");
  CHECK(store.read_code(*store.find("x"), 1).error().code == Code::denied);
  CHECK(store.read(*store.find("x"), "../../../etc/passwd").error().code == Code::not_found);
}

TEST_CASE("slugs obey the rules of the format", "[skills]") {
  auto [name, slug] = GENERATE(table<std::string, std::string>({
      {"filter_high_risk", "filter-high-risk"},
      {"_x", "x"},
      {"A__b_", "a-b"},
      {"X1", "x1"},
      {"_", ""},
      {"a/b", ""},
  }));
  CHECK(skills::slug_of(name) == slug);
  CHECK((slug.empty() || skills::is_slug(slug)));
  CHECK_FALSE(skills::is_slug("a--b"));
  CHECK_FALSE(skills::is_slug("-a"));
}
