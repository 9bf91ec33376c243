// Folders of the daemon's configuration that cannot be read to their end: no right comes back that a stricter file
// takes away, and no incomplete copy is the last good one.
#include <fcntl.h>

#include <fstream>

#include "catalog/folder.h"
#include "policies/policy.h"
#include "policies/store.h"
#include "skills/library.h"
#include "skills/store.h"
#include "supervisor/base/path.h"
#include "supervisor/daemon/configuration/last_good.h"
#include "supervisor/upstream/oauth/login_files.h"
#include "tests/failing_reads/failing_folder.h"
#include "tests/supervisor/daemon/configuration/scene.h"

namespace fs = std::filesystem;

TEST_CASE("a policy folder that fails halfway gives no rights back", "[failing]") {
  ConfigurationScene scene;
  fs::create_directories(scene.folder / "stricter/seccomp");
  scene.write("policies/system.json", R"({"extends": "default"})");
  scene.write("stricter/system.json", R"({"extends": "default", "languages": ["python"]})");
  scene.write("stricter/another.json", R"({"extends": "default"})");
  const std::vector<std::string> folders = {scene.path("policies"), scene.path("stricter")};
  const auto load = [&] { return policies::Store::load(folders, policies::Mode::system); };
  const auto good = load();
  REQUIRE(good);
  CHECK(good->find("system")->languages == std::vector<std::string>{"python"});
  for (const char* folder : {"/stricter", "/policies", "/stricter/seccomp", "/policies/seccomp"}) {
    scene.write("stricter/seccomp/own.json", R"({"extends": "default"})");
    const FailingFolder failing(folder);
    const auto loaded = load();
    REQUIRE_FALSE(loaded);
    CHECK_THAT(loaded.error().what,
               Catch::Matchers::Contains("Input/output error") && Catch::Matchers::Contains(folder));
    CHECK_FALSE(good->reread());
  }
  const FailingFolder failing("/stricter", 1);
  CHECK_FALSE(load());
}

TEST_CASE("drop-ins that cannot all be listed are a problem of the configuration", "[failing]") {
  ConfigurationScene scene;
  scene.write("warderd.json", R"({"log_level": "debug"})");
  scene.write("warderd.json.d/a.json", R"({"log_level": "info"})");
  scene.write("warderd.json.d/b.json", R"({"log_level": "warning"})");
  CHECK(scene.load().good());
  const FailingFolder failing("/warderd.json.d", 1);
  CHECK_FALSE(scene.load().good());
}

TEST_CASE("an incomplete copy is never the last good one", "[failing]") {
  ConfigurationScene scene;
  scene.write("warderd.json", "{}");
  scene.write("policies/own.json", R"({"extends": "default"})");
  const auto loaded = scene.load();
  REQUIRE(loaded.good());
  const auto full = configuration::copy_of(loaded.document, loaded.options.policies);
  REQUIRE(full);
  REQUIRE(configuration::keep_last_good(scene.path("state"), *full));
  {
    const FailingFolder failing("/policies", 1);
    CHECK_FALSE(configuration::copy_of(loaded.document, loaded.options.policies));
  }
  const FailingFolder failing("/last-good/policies/0", 1);
  const auto copy = configuration::load_last_good(scene.path("state"), scene.invocation);
  CHECK((!copy || !copy->good()));
}

TEST_CASE("definitions of tools in a folder that fails are left out with the reason", "[failing]") {
  TempDirectory temporary;
  const std::string root = fs::canonical(temporary.path());
  fs::create_directories(root + "/inner");
  for (const char* name : {"a.json", "b.json", "inner/c.json", "inner/d.json"})
    std::ofstream(root + "/" + name) << "{}";
  CHECK(catalog::list_folder(root)->files.size() == 4);
  {
    const FailingFolder failing("/inner", 1);
    const auto listing = catalog::list_folder(root);
    REQUIRE(listing);
    CHECK(listing->files.size() == 2);
    CHECK(listing->unlisted == std::vector<std::string>{"inner: Input/output error"});
  }
  const FailingFolder failing(fs::path(root).filename(), 1);
  CHECK_FALSE(catalog::list_folder(root));
}

TEST_CASE("logins that cannot all be listed are named", "[failing]") {
  TempDirectory temporary;
  const Fd folder(::open(temporary.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const oauth::LoginFiles files(folder.get(), {});
  oauth::Tokens tokens;
  tokens.access = "a";
  tokens.issuer = "https://a.example";
  for (const char* owner : {"", "acme"}) REQUIRE(files.write({"far", owner}, tokens));
  std::vector<std::string> problems;
  {
    const FailingFolder failing("/logins/far", 1);
    CHECK(files.read_all(problems)->empty());
    REQUIRE(problems.size() == 1);
    CHECK_THAT(problems.front(), Catch::Matchers::Contains("logins/far"));
  }
  const FailingFolder failing("/logins");
  CHECK_FALSE(files.read_all(problems));
}

TEST_CASE("a skill whose versions cannot be listed is not replaced by a first version", "[failing]") {
  TempDirectory temporary;
  const auto open = [&] { return skills::SkillStore::open(open_directory(temporary.path()).value()); };
  const skills::Draft draft{"first", "x = 1\n", "What it does", skills::SkillLanguage::python, "2026-11-21T12:00:00Z"};
  const skills::StoreLimits limits{1 << 20, 20, 3};
  auto store = open();
  REQUIRE(store);
  auto saving = store->plan_save(draft, limits);
  REQUIRE((saving && skills::SkillStore::write(*saving)));
  {
    const FailingFolder failing("/first");
    const auto retry = open();
    REQUIRE(retry);
    CHECK(retry->problems().size() == 1);
    const auto refused = retry->plan_save(draft, limits);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == Code::unavailable);
    CHECK(retry->plan_save({"other", "x = 1\n", "", draft.language, draft.created}, limits));
  }
  CHECK(open()->entries().size() == 1);
  const std::string shared = fs::canonical(temporary.path());
  const auto scripts = [&](const char* failing_folder) {
    const FailingFolder failing(failing_folder);
    return skills::bytes_below(open_directory(shared + "/first/000001").value().get()).has_value();
  };
  CHECK(scripts("/none"));
  CHECK_FALSE(scripts("/scripts"));
  const FailingFolder failing(fs::path(shared).filename());
  CHECK_FALSE(open());
  CHECK_FALSE(skills::Shared::load(shared));
}
