// Ignored files: the patterns of gitignore(5), against what git 2.39's check-ignore says of the same paths.
#include "supervisor/executions/runs/ignored_files.h"

#include "tests/catch.h"

using runs::IgnoredFiles;

namespace {

bool ignores(const std::string& gitignore, const std::string& path) {
  return IgnoredFiles(gitignore, {path}).contains(path);
}

}  // namespace

TEST_CASE("patterns fit the paths that they fit for git", "[answer]") {
  const auto [pattern, path, fits] = GENERATE(table<std::string, std::string, bool>({
      {"*.log", "a.log", true},
      {"*.log", "deep/in/a.log", true},
      {"*.log", "a.log.txt", false},
      {"build/", "build/out.o", true},
      {"build/", "src/build/out.o", true},
      {"build/", "build", false},
      {"build", "build", true},
      {"build", "build/out.o", true},
      {"/build", "src/build", false},
      {"doc/*.txt", "doc/a.txt", true},
      {"doc/*.txt", "doc/deep/a.txt", false},
      {"doc/*.txt", "in/doc/a.txt", false},
      {"**/logs", "a/b/logs/x", true},
      {"a/**/z", "a/z", true},
      {"a/**/z", "a/b/c/z", true},
      {"abc/**", "abc/x/y", true},
      {"file?.c", "file1.c", true},
      {"file?.c", "file/.c", false},
      {"[ab].c", "a.c", true},
      {"[!ab].c", "a.c", false},
      {"[!ab].c", "c.c", true},
      {"# a comment", "# a comment", false},
      {"\\#real", "#real", true},
      {"a.b", "axb", false},
      {"(x|y)+", "(x|y)+", true},
      {"(x|y)+", "x", false},
      {"name.txt  \r", "name.txt", true},
      {"[", "[", true},
  }));
  CAPTURE(pattern, path);
  CHECK(ignores(pattern, path) == fits);
}

TEST_CASE("an exception is never ignored, and an empty file ignores nothing", "[answer]") {
  const IgnoredFiles some("*.log\n!keep.log\n\n/target/\n", {"a.log", "keep.log", "target/x", "src/a.c"});
  CHECK(some.contains("a.log"));
  CHECK_FALSE(some.contains("keep.log"));
  CHECK(some.contains("target/x"));
  CHECK_FALSE(some.contains("src/a.c"));
  CHECK_FALSE(ignores("", "a"));
  CHECK_FALSE(ignores("!a\n", "a"));
}

TEST_CASE("hostile patterns end, and take a bounded time for many paths", "[answer]") {
  std::string many;
  for (int i = 0; i < 5000; i++) many += "a*a*a*a*a*a*b" + std::to_string(i) + "\n";
  CHECK_FALSE(ignores(std::string(100'000, '['), "x"));
  CHECK_FALSE(ignores(std::string(100'000, '*') + "b", std::string(250, 'a')));
  // Without the bound these paths would take minutes. The last one would be ignored, but its turn does not come.
  std::vector<std::string> paths;
  for (int i = 0; i < 100'000; i++) paths.push_back(std::string(240, 'a') + std::to_string(i));
  paths.push_back("aaaaaab1");
  CHECK(ignores(many, paths.back()));
  CHECK_FALSE(IgnoredFiles(many, paths).contains(paths.back()));
}

TEST_CASE("a path that is too long for the patterns is named", "[answer]") {
  CHECK(ignores("*", std::string(runs::kMaxIgnoredPath, 'a')));
  CHECK_FALSE(ignores("*", std::string(runs::kMaxIgnoredPath + 1, 'a')));
}

TEST_CASE("beyond its bounds the file's text is not read", "[answer]") {
  std::string many;
  for (size_t i = 0; i < runs::kMaxIgnorePatterns; i++) many += "p" + std::to_string(i) + "\n";
  CHECK(ignores(many, "p199"));
  CHECK_FALSE(ignores(many + "late\n", "late"));
  // The last line of a text that is cut may be a part of one: "*" of "*.log" would ignore each path.
  const std::string filler = "# " + std::string(runs::kMaxIgnoreBytes - 4, '-') + "\n";
  CHECK_FALSE(ignores(filler + "*.log\n", "a.txt"));
  CHECK_FALSE(ignores(filler + "*.log\n", "a.log"));
}

TEST_CASE("lines that are no pattern fit no path", "[answer]") {
  for (const char* line : {"", "/", "!", "#", "   ", "\r", "[z-a]", "[!]"}) {
    CAPTURE(line);
    CHECK_FALSE(ignores(line, "a"));
  }
  CHECK(ignores("[z-a]\n*.log\n", "a.log"));
}

TEST_CASE("paths are bytes, with line ends and bytes that are no UTF-8", "[answer]") {
  CHECK(ignores("*.log", "a\nb.log"));
  CHECK(ignores("*.log", "\xff.log"));
  CHECK(ignores("caf?", "caf\xe9"));
  CHECK(ignores("a\\*b", "a*b"));
  CHECK_FALSE(ignores("a\\*b", "axb"));
}

TEST_CASE("an exception stands for the folder's files, too, wherever it stands", "[answer]") {
  const IgnoredFiles some("!out/good/\nout/\n", {"out/a.o", "out/good/b.o"});
  CHECK(some.contains("out/a.o"));
  CHECK_FALSE(some.contains("out/good/b.o"));
}
