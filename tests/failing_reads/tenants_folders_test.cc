// Folders of tenants that cannot be read to their end: an erasure, a sweep or a list says so.
#include <fcntl.h>

#include <fstream>

#include "policies/store.h"
#include "supervisor/tenants/index/index_state.h"
#include "supervisor/tenants/kept_stream.h"
#include "supervisor/tenants/named_workspaces.h"
#include "supervisor/tenants/new_file.h"
#include "supervisor/tenants/proposals/interrupted_commits.h"
#include "supervisor/tenants/proposals/tree_access.h"
#include "supervisor/tenants/removed_tenants.h"
#include "supervisor/tenants/sessions.h"
#include "supervisor/tenants/tenant.h"
#include "tests/failing_reads/failing_folder.h"
#include "tests/supervisor/tenants/scene.h"

namespace fs = std::filesystem;

namespace {

struct TenantsFolder {
  TempDirectory temporary;
  fs::path root = fs::canonical(temporary.path());
  std::string name = root.filename();
  Fd folder(const std::string& below = ".") const { return open_directory((root / below).string()).value(); }
};

}  // namespace

TEST_CASE_METHOD(TenantsFolder, "removed tenants that cannot all be listed are an error", "[failing]") {
  for (const char* tenant : {"ada", "bob", "eve"}) {
    fs::create_directory(root / tenant);
    REQUIRE(tenants::set_aside(folder().get(), tenant, 1, 0));
  }
  CHECK(tenants::list_removed(folder().get())->size() == 3);
  const FailingFolder failing(name, 1);
  CHECK_FALSE(tenants::list_removed(folder().get()));
}

TEST_CASE_METHOD(TenantsFolder, "tenants that cannot all be listed are an error", "[failing]") {
  Loop loop;
  const auto store = policies::Store::load({WARDER_SOURCE_DIR "/policies"}, policies::Mode::checkout);
  REQUIRE(store);
  const auto registry = tenants::Registry::open(loop, folder().get(), *store);
  REQUIRE(registry);
  for (const char* tenant : {"ada", "bob", "eve"}) fs::create_directory(root / "tenants" / tenant);
  CHECK(registry->all_tenants().value() == std::vector<std::string>{"ada", "bob", "eve"});
  for (const int after : {0, 1, 2}) {
    const FailingFolder failing(root / "tenants", after);
    const auto all = registry->all_tenants();
    REQUIRE_FALSE(all);
    CHECK(all.error().err == EIO);
  }
}

TEST_CASE_METHOD(TenantsFolder, "named workspaces that cannot all be listed are an error", "[failing]") {
  for (const char* workspace : {"a", "b", "c"}) fs::create_directories(root / tenants::kNamedWorkspaces / workspace);
  const auto named = tenants::NamedWorkspaces::of(folder().get());
  REQUIRE(named);
  CHECK(named->list({})->size() == 3);
  const FailingFolder failing("/" + std::string(tenants::kNamedWorkspaces), 2);
  CHECK_FALSE(named->list({}));
  CHECK_FALSE(named->check_room("d", {}));
  Loop loop;
  CHECK_FALSE(wait_for(loop, named->finish_removals(loop)));
}

TEST_CASE_METHOD(TenantsFolder, "an incomplete sweep of unfinished files is an error", "[failing]") {
  fs::create_directory(root / "unfinished");
  const Fd unfinished = folder("unfinished");
  for (int i = 0; i < 3; i++) {
    auto file = tenants::NewFile::make(folder().get(), unfinished.get(), RelativePath::known("x"), 0600);
    REQUIRE(file);
  }
  CHECK(tenants::sweep_unfinished(unfinished.get()));
  std::ofstream(root / "unfinished/x");
  const FailingFolder failing("/unfinished");
  CHECK_FALSE(tenants::sweep_unfinished(unfinished.get()));
}

TEST_CASE_METHOD(TenantsFolder, "a stream whose parts cannot all be listed has no shorter end", "[failing]") {
  for (const char* part : {"stdout", "stdout.5", "stdout.10"}) std::ofstream(root / part) << "12345";
  CHECK(tenants::SavedStream::open(folder().get(), "stdout")->size() == 15);
  const FailingFolder failing(name, 2);
  CHECK_FALSE(tenants::SavedStream::open(folder().get(), "stdout"));
}

TEST_CASE_METHOD(TenantsFolder, "session logs that cannot all be listed are an error, and none is removed",
                 "[failing]") {
  constexpr size_t kMore = tenants::kMaxSessions + 5;
  for (size_t i = 0; i < kMore; i++) std::ofstream(root / ("s" + std::to_string(i) + ".log")) << "{}\n";
  tenants::SessionLogs logs(folder(), "ada");
  CHECK(logs.list()->size() == kMore);
  {
    const FailingFolder failing(name, tenants::kMaxSessions);
    const auto all = logs.list();
    REQUIRE_FALSE(all);
    CHECK(all.error().err == EIO);
    CHECK(logs.begin("new", "2026-11-21T12:00:00Z"));
  }
  CHECK(logs.list()->size() == kMore + 1);
  CHECK(logs.begin("newer", "2026-11-21T12:00:00Z"));
  CHECK(logs.list()->size() == tenants::kMaxSessions);
}

TEST_CASE("a workspace that cannot be read to its end is not emptied or listed in part", "[failing]") {
  Scene scene;
  const std::string name = scene.inside.filename();
  fs::create_directories(scene.inside / "deep");
  for (const char* file : {"a", "b", "deep/c", "deep/d"}) Scene::put(scene.inside / file, "x");
  {
    const FailingFolder failing("/workspace/deep", 1);
    CHECK_FALSE(scene.list(".", {2, 100}));
    const auto counted = wait_for(scene.loop, scene->measure());
    CHECK((!counted || !counted->problem.empty()));
  }
  {
    const FailingFolder failing("/workspace", 1);
    CHECK_FALSE(scene.list());
    CHECK_FALSE(scene.remove(".", tenants::Removal::recursive));
  }
  CHECK(scene.list(".", {2, 100})->entries.size() >= 3);
}

TEST_CASE_METHOD(TenantsFolder, "an index of a folder that cannot be read is not used", "[failing]") {
  for (const char* file : {"a", "b"}) std::ofstream(root / file) << "x";
  const auto shares = std::make_shared<tenants::WatchShares>(tenants::WatchShares::of_kernel());
  const auto unusable = [&]() -> std::string {
    auto index = tenants::IndexState::open(folder().get(), shares, {});
    REQUIRE(index);
    (*index)->begin_scan();
    for (int i = 0; i < 100 && (*index)->unusable().empty() && !(*index)->step(1000); i++) continue;
    return (*index)->unusable();
  };
  CHECK(unusable().empty());
  const FailingFolder failing(name, 1);
  CHECK_THAT(unusable(), Catch::Matchers::Contains("Input/output error"));
}

TEST_CASE_METHOD(TenantsFolder, "staging folders that cannot be listed hide no interrupted commit", "[failing]") {
  fs::create_directories(root / "ada/staging/a");
  fs::create_directories(root / "ada/workspace");
  CHECK(proposals::list_names(folder("ada").get(), "", 10).value().size() == 2);
  CHECK(proposals::complete_interrupted_commits(folder().get())->failed.empty());
  {
    const FailingFolder failing("/ada/staging");
    CHECK(proposals::complete_interrupted_commits(folder().get())->failed.size() == 1);
  }
  const FailingFolder failing(name);
  CHECK_FALSE(proposals::complete_interrupted_commits(folder().get()));
}
