// Unified diffs of proposals: what git and patch take, what hostile files cannot do with a reader's terminal, and what
// a diff may cost.
#include "supervisor/tenants/proposals/text_diff.h"

#include <chrono>
#include <random>

#include "supervisor/base/json/json.h"
#include "supervisor/tenants/proposals/line_diff.h"
#include "tests/supervisor/tenants/proposals/staged_scene.h"

namespace fs = std::filesystem;
using namespace proposals;

namespace {

std::string diff_of(StagedScene& scene, size_t max_bytes = 1 << 20) {
  auto text = scene.open().diff(max_bytes);
  INFO((text ? "" : text.error().what));
  REQUIRE(text);
  return *std::move(text);
}

// Runs a command in a folder. False: it failed.
bool command(const fs::path& folder, const std::string& line) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    if (::chdir(folder.c_str()) < 0) ::_exit(126);
    ::execl("/bin/sh", "sh", "-c", (line + " >/dev/null 2>&1").c_str(), nullptr);
    ::_exit(127);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return status == 0;
}

bool is_harmless(std::string_view text) {
  for (const char c : text)
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' && c != '\r') || c == 0x7F) return false;
  return valid_utf8(text) == text;
}

std::string hunk_text(std::string_view before, std::string_view after) {
  std::string text;
  for (const LineHunk& hunk : line_hunks(before, after)) {
    text += "@" + std::to_string(hunk.old_begin) + "," + std::to_string(hunk.old_count) + "+" +
            std::to_string(hunk.new_begin) + "," + std::to_string(hunk.new_count) + "\n";
    for (const HunkLine& line : hunk.lines) text += line.mark + std::string(line.text);
  }
  return text;
}

// Applies hunks to `before`.
std::string applied(std::string_view before, const std::vector<LineHunk>& hunks) {
  const auto lines = split_lines(before);
  std::string text;
  size_t at = 0;
  for (const LineHunk& hunk : hunks) {
    for (; at < hunk.old_begin; at++) text += lines[at];
    size_t olds = 0, news = 0;
    for (const HunkLine& line : hunk.lines) {
      if (line.mark != '+') {
        REQUIRE(lines[at++] == line.text);
        olds++;
      }
      if (line.mark != '-') {
        text += line.text;
        news++;
      }
    }
    REQUIRE(olds == hunk.old_count);
    REQUIRE(news == hunk.new_count);
  }
  for (; at < lines.size(); at++) text += lines[at];
  return text;
}

}  // namespace

TEST_CASE("hunks have the shortest edits, three lines of context, and are joined where these meet", "[diff]") {
  CHECK(hunk_text("a\nb\nc\n", "a\nB\nc\n") == "@0,3+0,3\n a\n-b\n+B\n c\n");
  CHECK(hunk_text("", "a\n") == "@0,0+0,1\n+a\n");
  CHECK(hunk_text("a\n", "") == "@0,1+0,0\n-a\n");
  CHECK(hunk_text("a\n", "a\n").empty());
  CHECK(hunk_text("a", "a\n") == "@0,1+0,1\n-a+a\n");
  CHECK(hunk_text("1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n", "1\n2\n3\n4\nx\n5\n6\n7\n8\n9\n10\n") ==
        "@1,6+1,7\n 2\n 3\n 4\n+x\n 5\n 6\n 7\n");
  const std::string twenty = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n17\n18\n19\n20\n";
  std::string changed = twenty;
  changed.replace(changed.find("2\n"), 2, "x\n");
  changed.replace(changed.find("\n9\n"), 3, "\ny\n");
  CHECK(line_hunks(twenty, changed).size() == 1);
  changed.replace(changed.find("19\n"), 3, "z\n");
  CHECK(line_hunks(twenty, changed).size() == 2);
}

TEST_CASE("hunks of random texts make the one from the other", "[diff]") {
  std::mt19937 random(7);
  const auto below = [&](unsigned limit) { return std::uniform_int_distribution<unsigned>(0, limit - 1)(random); };
  for (int round = 0; round < 2000; round++) {
    std::string before, after;
    for (unsigned i = below(30); i > 0; i--) before += std::string(1, static_cast<char>('a' + below(4))) + "\n";
    for (const std::string_view line : split_lines(before)) {
      if (below(5) == 0) after += "new\n";
      if (below(5) != 0) after += line;
    }
    if (below(4) == 0 && !after.empty()) after.pop_back();
    REQUIRE(applied(before, line_hunks(before, after)) == after);
  }
}

TEST_CASE("a diff bomb is one hunk, in bounded time", "[diff][hostile]") {
  std::string before, after;
  for (int i = 0; before.size() < 60'000; i++) before += std::to_string(i) + "\n";
  for (int i = 0; after.size() < 60'000; i++) after += "x" + std::to_string(i % 7) + "\n";
  const auto hunks = line_hunks(before, after);
  CHECK(hunks.size() == 1);
  CHECK(applied(before, hunks) == after);
  const std::string lines(65536, '\n');
  std::string half;
  for (int i = 0; half.size() < 65536; i++) half += i % 2 ? "\n" : "x\n";
  CHECK(applied(lines, line_hunks(lines, half)) == half);
}

TEST_CASE("a diff ends between two files when the daemon ends", "[diff]") {
  StagedScene scene;
  put(scene.workspace / "a", "one\n");
  if (!scene.run([] { put("a", "two\n"); })) return;
  CommitHooks hooks;
  hooks.must_stop = [] { return true; };
  scene.settle();
  const auto text = scene.open().diff(1 << 20, hooks);
  REQUIRE_FALSE(text);
  CHECK(text.error().code == Code::unavailable);
}

TEST_CASE("the diff of ordinary text is applied by patch and git", "[diff]") {
  StagedScene scene;
  fs::create_directories(scene.workspace / "folder");
  std::string long_text;
  for (int i = 0; i < 400; i++) long_text += "line " + std::to_string(i) + "\n";
  put(scene.workspace / "folder/long", long_text);
  put(scene.workspace / "no newline", "one\ntwo");
  put(scene.workspace / "gone", "bye\n");
  put(scene.workspace / "emptied", "text\n");
  put(scene.workspace / "script", "#!/bin/sh\n");
  put(scene.workspace / "dos", "one\r\ntwo\r\n");
  put(scene.workspace / "umlaut \xC3\xA4", "one\n");
  put(scene.workspace / "tab\there", "one\n");
  if (!scene.run([&] {
        std::string changed = long_text;
        changed.replace(changed.find("line 20\n"), 8, "another line\n");
        changed.insert(changed.find("line 300\n"), "inserted\n");
        changed.erase(changed.find("line 399\n"));
        put("folder/long", changed);
        put("no newline", "one\ntwo\nthree");
        fs::remove("gone");
        put("emptied", "");
        fs::permissions("script", fs::perms(0755));
        put("dos", "one\r\nthree\r\n");
        put("umlaut \xC3\xA4", "two\n");
        put("tab\there", "two\n");
        fs::create_directories("fresh/deep");
        put("fresh/deep/file", "\xC3\xA4 new\n");
        put("fresh/empty", "");
        put("binary", std::string("a\0b", 3));
      }))
    return;
  scene.settle();
  const std::string text = diff_of(scene);
  INFO(text);
  CHECK(is_harmless(text));
  CHECK(text.find("# binary file binary: new, 3 bytes\n") != text.npos);
  CHECK(text.find("old mode 100644\nnew mode 100755\n") != text.npos);
  const fs::path patch = scene.temp.path() / "diff.patch";
  put(patch, text);
  const std::string requested = [&] {
    std::string merged = scene.merged;  // without the binary file, which is one line of the diff
    const size_t at = merged.find("binary 100644");
    return merged.erase(at, merged.find('\n', at) + 1 - at);
  }();
  for (const std::string tool : {"patch -p1 --no-backup-if-mismatch < ", "git apply "}) {
    if (!command("/", tool.substr(0, tool.find(' ')) + " --version")) {
      WARN("SKIPPED-NEEDS " << tool);
      continue;
    }
    const fs::path copy = scene.temp.path() / "copy";
    fs::remove_all(copy);
    fs::copy(scene.workspace, copy, fs::copy_options::recursive);
    INFO(tool);
    CHECK(command(copy, tool + patch.string()));
    CHECK(picture(copy) == requested);
  }
  REQUIRE(scene.commit().is_committed);
  CHECK(diff_of(scene) == text);  // also afterwards
}

TEST_CASE("links show their targets, and binary and large files their sizes", "[diff]") {
  StagedScene scene;
  fs::create_symlink("old target", scene.workspace / "link");
  put(scene.workspace / "becomes_link", "text\n");
  put(scene.workspace / "large", std::string(70'000, 'x'));
  fs::create_directories(scene.workspace / "folder");
  if (!scene.run([] {
        fs::remove("link");
        fs::create_symlink("new target", "link");
        fs::remove("becomes_link");
        fs::create_symlink("/etc/passwd", "becomes_link");
        put("large", std::string(80'000, 'y'));
        put("latin", "\xE4\xF6\n");
        fs::permissions("folder", fs::perms(0711));
      }))
    return;
  scene.settle();
  const std::string text = diff_of(scene);
  CHECK(text.find("# large file large: 80000 bytes, were 70000 bytes\n") != text.npos);
  CHECK(text.find("# binary file latin: new, 3 bytes\n") != text.npos);
  CHECK(text.find("# folder folder: mode 0711, was 0755\n") != text.npos);
  CHECK(text.find("-old target\n\\ No newline at end of file\n+new target\n\\ No newline") != text.npos);
  CHECK(text.find("deleted file mode 100644\n--- a/becomes_link\n") != text.npos);
  CHECK(text.find("new file mode 120000\n--- /dev/null\n+++ b/becomes_link\n@@ -0,0 +1 @@\n+/etc/passwd\n") !=
        text.npos);
}

TEST_CASE("git's own data is counted, and all that makes git run a program is shown", "[diff][hostile]") {
  StagedScene scene;
  const std::vector<std::string> hidden = {
      "index", "HEAD", "logs/HEAD", "refs/heads/main", "objects/ab/cd01", "objects/pack/pack-1.idx", "COMMIT_EDITMSG"};
  const std::vector<std::string> visible = {"hooks/post-checkout",     "config",      "config.worktree",
                                            "info/attributes",         "commondir",   "x/hooks/pre-push",
                                            "objects/info/alternates", "objects/evil"};
  if (!scene.run([&] {
        for (const auto* names : {&hidden, &visible})
          for (const std::string& name : *names) {
            const fs::path file = "src/.git/" + name;
            fs::create_directories(file.parent_path());
            put(file, "secret of " + name + "\n");
          }
      }))
    return;
  scene.settle();
  const std::string diff = diff_of(scene);
  for (const std::string& name : hidden) CHECK(diff.find("secret of " + name) == diff.npos);
  for (const std::string& name : visible) CHECK(diff.find("+secret of " + name) != diff.npos);
  CHECK(diff.find("# 7 files of git's own are not shown") != diff.npos);
}

TEST_CASE("hostile names and contents cannot drive a reader's terminal", "[diff][hostile]") {
  StagedScene scene;
  put(scene.workspace / "escape", "one\n");
  if (!scene.run([] {
        put("escape", "one\x1B[2J\x07\xE2\x80\xAE\xC2\x9B\n\rtwo\n");
        put("name\nwith\x1B[31mescape", "text\n");
        put("bytes\xFF\xFE", "text\n");
        put("quote\"back\\slash", "text\n");
        put("rtl\xE2\x80\xAEgnp.exe", "text\n");
        fs::create_symlink("target\x1B[2J", "link");
      }))
    return;
  const Proposal proposal = scene.settle();
  for (const auto& file : proposal.files.created.files) CHECK(valid_utf8(file.path) == file.path);
  const std::string text = diff_of(scene);
  CHECK(is_harmless(text));
  CHECK(text.find("\xE2\x80\xAE") == text.npos);
  CHECK(text.find("+one<U+001B>[2J<U+0007><U+202E><U+009B>\n+<U+000D>two\n") != text.npos);
  CHECK(text.find("# escape has control characters") != text.npos);
  CHECK(text.find("\"b/name\\012with\\033[31mescape\"") != text.npos);
  CHECK(text.find("\"b/bytes\\377\\376\"") != text.npos);
  CHECK(text.find("\"b/quote\\\"back\\\\slash\"") != text.npos);
  CHECK(text.find("\"b/rtl\\342\\200\\256gnp.exe\"") != text.npos);
  CHECK(text.find("+target<U+001B>[2J") != text.npos);
  for (const char* name : {"name\nwith\x1B[31mescape", "bytes\xFF\xFE"})
    CHECK(scene.commit({name}).is_committed);  // bytes as they are on disk
  CHECK(scene.commit({valid_utf8("bytes\xFF\xFE") == "bytes\xFF\xFE" ? "" : "escape"}).is_committed);
  CHECK(scene.commit().is_committed);
  CHECK(picture(scene.workspace) == scene.merged);
}

TEST_CASE("a diff ends at its bound and says so", "[diff][hostile]") {
  StagedScene scene;
  if (!scene.run([] {
        put("a", std::string(20'000, 'x') + "\n");
        for (int i = 0; i < 300; i++) put("b" + std::to_string(i), "short\n");
      }))
    return;
  scene.settle();
  const std::string text = diff_of(scene, 4000);
  CHECK(text.size() < 4200);
  CHECK(text.find("# a: its part of the diff has 20") != text.npos);
  CHECK(text.find("+short\n") != text.npos);
  CHECK(text.ends_with("the other changes are left out\n"));
  CHECK(diff_of(scene, 0) == "# the diff is longer than its bound: the other changes are left out\n");
}
