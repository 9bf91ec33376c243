// Stubs of upstream tools, and the folders that become a jail's root, with a folder that cannot be read to its end: no
// incomplete tree is shown to jails.
#include <fcntl.h>

#include "jail/host_files.h"
#include "jail/template.h"
#include "supervisor/upstream/discovery/stub_tree.h"
#include "tests/catalog/library.h"
#include "tests/failing_reads/failing_folder.h"
#include "tests/supervisor/tenants/scene.h"

namespace fs = std::filesystem;

namespace {

struct ShownStubs : Library {
  TempDirectory folder;
  Loop loop;
  std::unique_ptr<discovery::StubTree> tree;
  ShownStubs() {
    tree = discovery::StubTree::start(loop, open_directory(folder.path().string()).value()).value();
    write_server("github", "Does it");
    write_server("slack", "Does it");
  }
  void write_server(const std::string& name, const std::string& description) {
    Json tools = Json::array();
    for (const char* tool : {"first", "second"}) tools.push_back({{"name", tool}, {"description", description}});
    put("category/" + name + ".json", Json{{"tools", tools}});
  }
  Result<bool> show() {
    load();
    return wait_for(loop, tree->show(produced));
  }
  std::string current() const { return fs::read_symlink(folder.path() / "current"); }
  size_t count_files(const char* server) const {
    const auto files = fs::directory_iterator(folder.path() / "current" / server);
    return static_cast<size_t>(std::distance(begin(files), end(files)));
  }
};

// A guest folder that make_template() accepts, and a /etc.
struct TemplateSource {
  TempDirectory temporary;
  fs::path root = fs::canonical(temporary.path()), guest = root / "guest", skills = root / "skills";
  int produced = 0;
  TemplateSource() {
    for (const char* file :
         {"guest/python/runner.py", "guest/python/runner.bundle", "guest/python/zygote.py",
          "guest/python/warder/__init__.py", "guest/javascript/runner.js", "guest/shell/warder-shell-runner",
          "skills/a.py", "skills/b.py", "etc/fonts/a.conf", "etc/fonts/b.conf", "etc/fonts/conf.d/c.conf"}) {
      fs::create_directories((root / file).parent_path());
      std::ofstream(root / file) << "pass\n";
    }
  }
  Result<Fd> make() { return jail::make_template(root / ("template" + std::to_string(++produced)), guest, skills); }
};

}  // namespace

TEST_CASE_METHOD(ShownStubs, "stubs of a server that cannot all be listed are not shown in part", "[failing]") {
  REQUIRE(show().value());
  const size_t files = count_files("github");
  CHECK(files > 2);
  write_server("slack", "Does something else");
  for (const int after : {0, 1}) {
    {
      const FailingFolder failing("/g1/github", after);  // its files would be linked from there
      const auto visible = show();
      REQUIRE_FALSE(visible);
      CHECK(visible.error().err == EIO);
      CHECK_THAT(visible.error().what, Catch::Matchers::Contains("the stubs of /servers"));
    }
    CHECK(current() == "g1");
    CHECK(count_files("github") == files);
  }
  const auto folders = fs::directory_iterator(folder.path());
  CHECK(std::distance(begin(folders), end(folders)) == 2);  // g1 and current: what was written is removed
  REQUIRE(show().value());
  CHECK(current() != "g1");
  CHECK(count_files("github") == files);
}

TEST_CASE_METHOD(TemplateSource, "a template of a folder that cannot be read to its end is not made", "[failing]") {
  REQUIRE(make());
  for (const fs::path& folder : {guest, guest / "python", skills})
    for (const int after : {0, 1}) {
      CAPTURE(folder.string(), after);
      const FailingFolder failing(folder, after);
      const auto incomplete = make();
      REQUIRE_FALSE(incomplete);
      CHECK_THAT(incomplete.error().what, Catch::Matchers::Contains("Input/output error"));
    }
  CHECK(make());
}

TEST_CASE_METHOD(TemplateSource, "stubs of an earlier daemon that cannot all be listed do not stay in a template",
                 "[failing]") {
  const auto make_again = [&] { return jail::make_template(root / "template", guest, skills); };
  REQUIRE(make_again());
  for (const char* server : {"a", "b"}) fs::create_directory(root / "template/servers" / server);
  {
    const FailingFolder failing("/template/servers", 1);
    const auto incomplete = make_again();
    REQUIRE_FALSE(incomplete);
    CHECK_THAT(incomplete.error().what, Catch::Matchers::Contains("Input/output error"));
  }
  REQUIRE(make_again());
  CHECK(fs::is_empty(root / "template/servers"));
}

TEST_CASE_METHOD(TemplateSource, "alternatives of the host that cannot all be listed make no template", "[failing]") {
  if (!fs::exists("/etc/alternatives")) {
    WARN("NOT TESTED: this machine has no /etc/alternatives");
    return;
  }
  for (const int after : {0, 2}) {
    const FailingFolder failing("/etc/alternatives", after);
    const auto incomplete = make();
    REQUIRE_FALSE(incomplete);
    CHECK(incomplete.error().err == EIO);
  }
  CHECK(make());
}

TEST_CASE_METHOD(TemplateSource, "settings of the host's libraries are not copied in part", "[failing]") {
  const auto copy = [&] { jail::copy_host_files(root / "etc", root / "to"); };
  for (const char* end : {"/etc/fonts", "/etc/fonts/conf.d"}) {
    const FailingFolder failing(end);
    CHECK_THROWS_AS(copy(), fs::filesystem_error);
  }
  {
    const FailingFolder failing("/etc/fonts", 1);
    CHECK_THROWS_AS(copy(), fs::filesystem_error);
  }
  copy();
  CHECK(fs::exists(root / "to/fonts/conf.d/c.conf"));
}
