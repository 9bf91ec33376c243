// Folded files: short lists as they are, long ones by folder, and no change that is neither listed nor counted.
#include "supervisor/executions/runs/folded_files.h"

#include <fmt/format.h>

#include "supervisor/base/json/json.h"
#include "tests/catch.h"

using runs::folded_files;
using tenants::Changes;
using tenants::kListedChanges;

namespace {

void add_many(Changes::List& list, const std::string& folder, int count) {
  for (int i = 0; i < count; i++) list.add(fmt::format("{}{:04}", folder, i), kListedChanges);
}

runs::IgnoredFiles ignored_by(const char* gitignore, const Changes& changes) {
  std::vector<std::string> paths;
  runs::add_paths_to_ignore(changes, paths);
  return runs::IgnoredFiles(gitignore, paths);
}

}  // namespace

TEST_CASE("a short list has each path", "[answer]") {
  Changes changes;
  for (const char* path : {"a.txt", "src/b.txt", "src/deep/c.txt"}) changes.created.add(path, kListedChanges);
  changes.modified.add("src/d.txt", kListedChanges);
  changes.deleted.add("old/e.txt", kListedChanges);
  CHECK(dump_json(folded_files(changes)) == R"({"created":["a.txt","src/b.txt","src/deep/c.txt"],)"
                                            R"("modified":["src/d.txt"],"deleted":["old/e.txt"]})");
  CHECK(folded_files(Changes()).is_null());
  Changes unknown;
  unknown.complete = false;
  CHECK(folded_files(unknown) == Json{{"complete", false}});
}

TEST_CASE("a commit's files of git are counted, and the person's own files are listed", "[answer]") {
  Changes changes;
  add_many(changes.created, ".git/objects/", 633);
  changes.created.add("README.md", kListedChanges);
  changes.modified.add(".git/index", kListedChanges);
  changes.modified.add("src/main.c", kListedChanges);
  CHECK(folded_files(changes) == Json{{"created", {"README.md"}},
                                      {"modified", {"src/main.c"}},
                                      {"folders", {{".git/", "633 created, 1 modified"}}}});
}

TEST_CASE("the folders with most changes are folded", "[answer]") {
  Changes changes;
  add_many(changes.created, "build/out/", 150);
  add_many(changes.created, "docs/", 10);
  changes.modified.add("src/a.c", kListedChanges);
  const Json files = folded_files(changes);
  CHECK(files["folders"] == Json{{"build/out/", "150 created"}});
  CHECK(files["created"].size() == 10);
  CHECK(files["modified"] == Json({"src/a.c"}));
  CHECK_FALSE(files.contains("omitted"));
}

TEST_CASE("files that .gitignore leaves out are counted, in a short list and in a long one", "[answer]") {
  constexpr char kIgnore[] = "*.o\n/out/\n";
  Changes changes;
  changes.created.add("a.o", kListedChanges);
  CHECK(folded_files(changes, ignored_by(kIgnore, changes)) == Json{{"ignored", 1}});
  add_many(changes.created, "out/", 60);
  changes.created.add("src/main.c", kListedChanges);
  CHECK(folded_files(changes, ignored_by(kIgnore, changes)) == Json{{"created", {"src/main.c"}}, {"ignored", 61}});
}

TEST_CASE("changes beyond the bound of a list are counted where they are", "[answer]") {
  Changes changes;
  add_many(changes.created, "data/", 40'000);
  add_many(changes.created, "zoo/", 3);
  const Json files = folded_files(changes);
  CHECK(files == Json{{"folders", {{"data/", "40000 created"}, {"zoo/", "3 created"}}}});
  CHECK(folded_files(changes, ignored_by("data/", changes)) ==
        Json{{"folders", {{"zoo/", "3 created"}}}, {"ignored", 40'000}});
}

TEST_CASE("what has no folder, or too many folders, is counted as omitted", "[answer]") {
  Changes flat;
  add_many(flat.created, "", 300);
  Json files = folded_files(flat);
  CHECK(files["created"].size() == runs::kListedFiles);
  CHECK(files["omitted"] == 300 - runs::kListedFiles);

  Changes many;
  for (int i = 0; i < 100'000; i++) many.created.add(fmt::format("f{:06}/x", i), kListedChanges);
  files = folded_files(many);
  uint64_t reported = files["omitted"].get<uint64_t>() + (files.contains("created") ? files["created"].size() : 0);
  for (const auto& [folder, text] : files["folders"].items()) reported += std::stoull(text.get<std::string>());
  CHECK(reported == 100'000);
  CHECK(dump_json(files).size() < 16'000);
}

TEST_CASE("a million names make a short answer, which counts each", "[answer]") {
  Changes changes;
  Changes::List* const lists[] = {&changes.created, &changes.modified, &changes.deleted};
  const std::string letters(50, 'a');
  for (int i = 0; i < 1'000'000; i++)
    lists[i % 3]->add(fmt::format("{}{:03}/{}{:06}", letters, i % 1000, letters, i), kListedChanges);
  const Json files = folded_files(changes);
  uint64_t counted = files["omitted"].get<uint64_t>();
  for (const char* kind : {"created", "modified", "deleted"})
    if (files.contains(kind)) counted += files[kind].size();
  for (const auto& [folder, text] : files["folders"].items())
    for (size_t at = 0; at != std::string::npos; at = text.get<std::string>().find(", ", at + 1))
      counted += std::stoull(text.get<std::string>().substr(at == 0 ? 0 : at + 2));
  CHECK(counted == 1'000'000);
  CHECK(dump_json(files).size() < 16'000);
}

TEST_CASE("folders of tools are found at any depth, and files of such names are files", "[answer]") {
  Changes changes;
  for (const char* path : {"app/node_modules/x/index.js", "venv/bin/python", "venv.txt", "node_modules"})
    changes.created.add(path, kListedChanges);
  CHECK(folded_files(changes) == Json{{"created", {"node_modules", "venv.txt"}},
                                      {"folders", {{"app/node_modules/", "1 created"}, {"venv/", "1 created"}}}});
}

TEST_CASE("paths for .gitignore are those outside of tools' folders, and no long ones", "[answer]") {
  Changes changes;
  changes.created.paths = {"a.txt", ".git/index", "app/node_modules/x.js", std::string(runs::kMaxIgnoredPath, 'p'),
                           std::string(runs::kMaxIgnoredPath + 1, 'q')};
  changes.modified.paths = {"b.txt"};
  changes.deleted.paths = {"c.txt"};
  changes.created.beyond.add("data/1");
  changes.created.beyond.add("venv/bin/python");
  std::vector<std::string> paths = {"before"};
  runs::add_paths_to_ignore(changes, paths);
  CHECK(paths == std::vector<std::string>{"before", "data/", "a.txt", std::string(runs::kMaxIgnoredPath, 'p'), "b.txt",
                                          "c.txt"});
}

TEST_CASE("a tool's own folder is counted also where .gitignore names it", "[answer]") {
  Changes changes;
  changes.created.add("node_modules/x.js", kListedChanges);
  changes.created.add("dist/x.js", kListedChanges);
  CHECK(folded_files(changes, ignored_by("node_modules/\ndist/\n", changes)) ==
        Json{{"folders", {{"node_modules/", "1 created"}}}, {"ignored", 1}});
}

TEST_CASE("a folder whose changes are of several kinds counts each", "[answer]") {
  Changes changes;
  add_many(changes.created, "src/", 30);
  add_many(changes.modified, "src/", 20);
  changes.deleted.add("src/old", kListedChanges);
  CHECK(folded_files(changes)["folders"] == Json{{"src/", "30 created, 20 modified, 1 deleted"}});
}
