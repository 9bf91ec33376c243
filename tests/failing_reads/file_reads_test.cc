// Files that cannot be read, from their beginning or from a later block on: an error, and no shorter or empty file.
// What such a file has is neither replaced nor taken for missing.
#include <fcntl.h>

#include <fstream>

#include "policies/policy.h"
#include "policies/store.h"
#include "supervisor/daemon/configuration/last_good.h"
#include "supervisor/protocol/credentials/stored_token.h"
#include "supervisor/tenants/index/index_state.h"
#include "supervisor/tenants/master_key.h"
#include "supervisor/tenants/sessions.h"
#include "supervisor/tenants/tenant.h"
#include "supervisor/tenants/vault.h"
#include "supervisor/tools/workspace/file_watches.h"
#include "supervisor/upstream/definitions.h"
#include "supervisor/upstream/discovery/search_learning.h"
#include "supervisor/upstream/oauth/logins.h"
#include "tests/catalog/library.h"
#include "tests/failing_reads/failing_folder.h"
#include "tests/fresh_meter.h"
#include "tests/jail/await.h"
#include "tests/supervisor/daemon/configuration/scene.h"
#include "tests/supervisor/tenants/scene.h"

namespace fs = std::filesystem;

namespace {

struct SomeFolder {
  TempDirectory temporary;
  fs::path root = fs::canonical(temporary.path());
  Fd folder = open_directory(root.string()).value();
  Loop loop;
};

template <class T>
void expect_failed_read(const Result<T>& result) {
  REQUIRE_FALSE(result);
  CHECK_THAT(result.error().what, Catch::Matchers::Contains("Input/output error"));
  CHECK(result.error().code != Code::not_found);
}

oauth::Tokens some_tokens() {
  oauth::Tokens tokens;
  tokens.access = "a";
  tokens.issuer = "https://far.example";
  return tokens;
}

// What one choice after a search teaches.
struct Taught : Library {
  SomeFolder state;
  std::string folder = state.root / "searches";
  Taught() {
    put("a.json", Json{{"server", "s"}, {"tools", {{{"name", "one"}}, {{"name", "two"}}}}});
    load();
  }
  static constexpr auto kShared = policies::LearningScope::shared;
  void teach(discovery::SearchLearning& learning, const std::string& tenant, const std::string& query) const {
    learning.searched(tenant, kShared, query);
    learning.chosen(*produced, tenant, kShared, {"s", "two"});
  }
  size_t count_stored() const {
    discovery::SearchLearning later;
    later.keep_in(folder);
    const auto existing = later.of("ada", kShared);
    return existing ? existing->size() : 0;
  }
};

}  // namespace

TEST_CASE("a policy file that cannot be read gives no rights back", "[failing]") {
  ConfigurationScene scene;
  std::filesystem::create_directories(scene.path("stricter"));
  scene.write("policies/system.json", R"({"extends": "default"})");
  scene.write("stricter/system.json", R"({"extends": "default", "languages": ["python"]})");
  const std::vector<std::string> folders = {scene.path("policies"), scene.path("stricter")};
  const auto load = [&] { return policies::Store::load(folders, policies::Mode::system); };
  const auto good = load();
  REQUIRE(good);
  for (const size_t first_bad : {0u, 10u}) {
    const FailingFile failing("/stricter/system.json", first_bad);
    const auto loaded = load();
    expect_failed_read(loaded);
    CHECK_FALSE(good->reread());
    CHECK_FALSE(configuration::copy_of(scene.load().document, folders));
  }
  CHECK(load()->find("system")->languages == std::vector<std::string>{"python"});
}

TEST_CASE("a file of the configuration that cannot be read is a problem, not an empty file", "[failing]") {
  ConfigurationScene scene;
  scene.write("warderd.json", "{}          ");
  scene.write("warderd.json.d/a.json", R"({"log_level": "info"})");
  CHECK(scene.load().good());
  for (const char* file : {"/warderd.json", "/warderd.json.d/a.json"}) {
    const FailingFile failing(file, 2);
    CHECK_FALSE(scene.load().good());
  }
}

TEST_CASE_METHOD(SomeFolder, "tokens that cannot be read are an error, not none", "[failing]") {
  std::ofstream(root / "warder.tokens") << "{}          ";
  CHECK(credentials::load_token_credential(root));
  const FailingFile failing("/warder.tokens", 2);
  const auto loaded = credentials::load_token_credential(root);
  expect_failed_read(loaded);
}

TEST_CASE_METHOD(SomeFolder, "a key that cannot be read is not replaced by a new one", "[failing]") {
  REQUIRE(tenants::MasterKey::load(folder.get(), ""));
  const std::string key = Scene::get(root / "master.key");
  for (const size_t first_bad : {size_t{0}, key.size() / 2}) {
    const FailingFile failing("/master.key", first_bad);
    const auto loaded = tenants::MasterKey::load(folder.get(), "");
    expect_failed_read(loaded);
  }
  CHECK(Scene::get(root / "master.key") == key);
}

TEST_CASE_METHOD(SomeFolder, "a vault whose log cannot be read is not opened without its tokens", "[failing]") {
  const auto disk = WorkerThread::start(loop).value();
  const auto key = tenants::MasterKey::load(folder.get(), "").value();
  const auto open = [&] {
    return await(loop, tenants::SealedVault::open(loop, *disk, folder.get(), key.of_vault("acme")));
  };
  {
    const auto vault = open().value();
    REQUIRE(vault->keep("[EMAIL_aaaaaa]", "ada@lovelace.org"));
    REQUIRE(await(loop, vault->settle()));
  }
  const std::string log = Scene::get(root / "vault/log");
  for (const size_t first_bad : {size_t{0}, log.size() - 8}) {
    const FailingFile failing("/vault/log", first_bad);
    const auto vault = open();
    expect_failed_read(vault);
  }
  CHECK(Scene::get(root / "vault/log") == log);
  CHECK(open().value()->find("[EMAIL_aaaaaa]") == "ada@lovelace.org");
}

TEST_CASE_METHOD(SomeFolder, "a session's log that cannot be read is no shorter log", "[failing]") {
  tenants::SessionLogs logs(open_directory(root.string()).value(), "ada");
  for (const char* task : {"first", "second"}) REQUIRE(logs.add("a", {task, "", "1", "", "", "t", {}}));
  const std::string log = Scene::get(root / "a.log");
  for (const size_t first_bad : {size_t{0}, log.size() / 2}) {
    const FailingFile failing("/a.log", first_bad);
    const auto read = logs.read("a");
    expect_failed_read(read);
    expect_failed_read(logs.add("a", {"third", "", "1", "", "", "t", {}}));  // the last line may be cut
  }
  CHECK(Scene::get(root / "a.log") == log);
  CHECK(logs.read("a"));
}

TEST_CASE_METHOD(SomeFolder, "stored definitions of tools that cannot be read are not missing", "[failing]") {
  upstream::ServerConfig config;
  config.name = "far";
  config.command = {"/bin/far"};
  const auto tools = upstream::Definitions::read(Json::array({{{"name", "one"}}, {{"name", "two"}}}), FreshMeter());
  REQUIRE(tools);
  REQUIRE(upstream::save_definitions(folder.get(), config, *tools));
  for (const size_t first_bad : {0u, 20u}) {
    const FailingFile failing("/far.json", first_bad);
    const auto stored = upstream::read_stored(folder.get(), config);
    expect_failed_read(stored);
  }
  CHECK(upstream::read_stored(folder.get(), config)->at("tools").size() == 2);
}

TEST_CASE_METHOD(SomeFolder, "a login that cannot be read is named, and goes with its tenant", "[failing]") {
  const auto disk = WorkerThread::start(loop).value();
  const oauth::SealKey key{};
  const oauth::LoginFiles files(folder.get(), key);
  const fs::path file = root / "logins/far/tenant-acme.sealed";
  for (const char* owner : {"acme", "other"}) REQUIRE(files.write({"far", owner}, some_tokens()));
  std::optional<FailingFile> failing(std::in_place, "/tenant-acme.sealed", 10);
  std::vector<std::string> problems;
  CHECK(files.read_all(problems)->size() == 1);
  REQUIRE(problems.size() == 1);
  CHECK_THAT(problems.front(), Catch::Matchers::Contains("tenant-acme.sealed"));
  oauth::Logins logins(std::make_shared<oauth::LoginBook>(loop, *disk, folder.get(), key));
  const auto reading = start(logins.book().ready());
  REQUIRE(run_until(loop, [&] { return reading.done(); }));
  failing.reset();
  CHECK(logins.book().find({"far", "acme"}) == nullptr);
  CHECK(fs::exists(file));
  oauth::TokenTarget target;
  target.server = "far";
  logins.forget_owner("acme", {target});
  CHECK(run_until(loop, [&] { return !fs::exists(file); }));
  CHECK(logins.book().find({"far", "other"}) != nullptr);
}

TEST_CASE_METHOD(Taught, "learning that cannot be read is not replaced, but for an erasure", "[failing]") {
  {
    discovery::SearchLearning learning;
    learning.keep_in(folder);
    teach(learning, "ada", "quuxify the frobnicator");
    teach(learning, "eve", "polish the widget");
    learning.write_all();
  }
  CHECK(count_stored() == 2);
  for (const bool is_erased : {false, true}) {
    discovery::SearchLearning learning;
    learning.keep_in(folder);
    {
      const FailingFile failing("/~shared", 10);
      teach(learning, "ada", "calibrate the gizmo");
    }
    if (is_erased) learning.forget("eve");  // the file may have what eve taught
    learning.write_all();
    CHECK(count_stored() == (is_erased ? 1 : 2));
  }
}

TEST_CASE_METHOD(SomeFolder, "an index whose events cannot be read lists all folders again", "[failing]") {
  const auto shares = std::make_shared<tenants::WatchShares>(tenants::WatchShares::of_kernel());
  const auto index = tenants::IndexState::open(folder.get(), shares, {}).value();
  const auto check = [&] {
    index->begin_scan();
    for (int i = 0; i < 100 && !index->step(1000); i++) continue;
    return index->table().usage().files;
  };
  const uint64_t before = check();
  std::ofstream(root / "new") << "x";
  {
    const FailingFile failing("inotify");
    CHECK(check() == before + 1);
    CHECK_FALSE(index->walked().empty());
  }
  CHECK(check() == before + 1);
  CHECK(index->unusable().empty());
}

TEST_CASE_METHOD(SomeFolder, "watched files whose events cannot be read are all looked at", "[failing]") {
  const auto tenant = tenants::Tenant::open(loop, folder.get(), "ada", {}).value();
  std::vector<std::string> changed;
  const auto note = [&](const tenants::Tenant&, const std::string& path) { changed.push_back(path); };
  const auto watches = tools::FileWatches::open(loop, note).value();
  const auto first = watches->watch(tenant, RelativePath::known("a"));
  const auto second = watches->watch(tenant, RelativePath::known("b"));
  REQUIRE((first && second));
  const FailingFile failing("inotify");
  std::ofstream(root / "ada/workspace/a") << "x";
  CHECK(run_until(loop, [&] { return !changed.empty(); }));
  CHECK(changed == std::vector<std::string>{"a"});
}
