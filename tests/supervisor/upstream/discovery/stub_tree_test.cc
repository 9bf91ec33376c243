#include "supervisor/upstream/discovery/stub_tree.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "tests/catalog/library.h"

namespace fs = std::filesystem;

namespace {

struct Tree : Library {
  TempDirectory folder;
  Loop loop;
  Work work{loop};
  std::unique_ptr<discovery::StubTree> tree;

  Tree() {
    auto started =
        discovery::StubTree::start(loop, Fd(::open(folder.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)));
    REQUIRE(started);
    tree = *std::move(started);
  }
  void server(const std::string& name, int count, const std::string& description = "Does it") {
    Json all = Json::array();
    for (int i = 0; i < count; i++)
      all.push_back({{"name", "tool_" + std::to_string(i)}, {"description", description}});
    put("category/" + name + ".json", Json{{"tools", all}});
  }
  bool show() {
    load();
    std::optional<Result<bool>> shown_count;
    auto run = [](discovery::StubTree& of, std::shared_ptr<const catalog::Catalog> library,
                  std::optional<Result<bool>>& into) -> Task<> { into = co_await of.show(std::move(library)); };
    loop.spawn(run(*tree, produced, shown_count));
    loop.run_until([&] { return shown_count.has_value(); });
    REQUIRE(*shown_count);
    return **shown_count;
  }
  std::optional<std::string> requested(const std::string& path) {
    std::optional<Result<std::string>> match;
    auto run = [](discovery::StubTree& of, Work& by, std::string name,
                  std::optional<Result<std::string>>& into) -> Task<> {
      Work::Owner owner{"tenant"};
      into = co_await of.file(by, std::move(owner), std::move(name));
    };
    loop.spawn(run(*tree, work, path, match));
    loop.run_until([&] { return match.has_value(); });
    if (*match) return **match;
    CHECK(match->error().code == Code::not_found);
    return std::nullopt;
  }
  fs::path current(const std::string& path) const { return folder.path() / "current" / path; }
  std::string text(const std::string& path) const {
    std::ostringstream all;
    all << std::ifstream(current(path)).rdbuf();
    return all.str();
  }
  ino_t inode(const std::string& path) const {
    struct stat info {};
    CHECK(::stat(current(path).c_str(), &info) == 0);
    return info.st_ino;
  }
};

}  // namespace

TEST_CASE("each tool of a large catalogue has its stubs, also of the last servers by the alphabet", "[stubs]") {
  Tree tree;
  for (const char* name : {"alpha", "middle", "zulu"}) tree.server(name, 2'100);
  REQUIRE(tree.show());
  for (const char* name : {"alpha", "middle", "zulu"}) {
    const auto entries = fs::directory_iterator(tree.current(name));
    CHECK(std::distance(begin(entries), end(entries)) == 2 * 2'100 + 3);
  }
  CHECK(tree.text("zulu/tool_2099.py").find("def tool_2099(") != std::string::npos);
}

TEST_CASE("a stub can be asked for before and after the tree is written", "[stubs]") {
  Tree tree;
  tree.server("github", 3);
  CHECK_FALSE(tree.requested("github/tool_1.py"));
  REQUIRE(tree.show());
  CHECK(tree.requested("github/tool_1.py") == tree.text("github/tool_1.py"));
  CHECK(tree.requested("github/index.js") == tree.text("github/index.js"));
  CHECK_FALSE(tree.requested("github/tool_3.py"));
  CHECK_FALSE(tree.requested("../../etc/passwd"));
}

TEST_CASE("a new catalogue keeps the files of servers that did not change", "[stubs]") {
  Tree tree;
  tree.server("github", 3);
  tree.server("slack", 3);
  REQUIRE(tree.show());
  const ino_t same = tree.inode("github/tool_1.py"), other = tree.inode("slack/tool_1.py");
  tree.server("slack", 4, "Does something else");
  REQUIRE(tree.show());
  CHECK(tree.inode("github/tool_1.py") == same);
  CHECK(tree.inode("slack/tool_1.py") != other);
  CHECK(tree.text("slack/tool_3.py").find("something else") != std::string::npos);
  SECTION("and the same catalogue is not written again") {
    auto retry = tree.produced;
    std::optional<Result<bool>> shown_count;
    auto run = [](discovery::StubTree& of, std::shared_ptr<const catalog::Catalog> result,
                  std::optional<Result<bool>>& into) -> Task<> { into = co_await of.show(std::move(result)); };
    tree.loop.spawn(run(*tree.tree, retry, shown_count));
    tree.loop.run_until([&] { return shown_count.has_value(); });
    CHECK_FALSE(**shown_count);
  }
  SECTION("and the oldest generations go") {
    for (int i = 0; i < 5; i++) {
      tree.server("slack", 1, "Version " + std::to_string(i));
      REQUIRE(tree.show());
    }
    size_t saved_count = 0;
    for (const auto& entry : fs::directory_iterator(tree.folder.path())) saved_count += entry.is_symlink() ? 0 : 1;
    CHECK(saved_count == discovery::StubTree::kSaved);
  }
}
