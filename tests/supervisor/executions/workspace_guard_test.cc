// WorkspaceGuard: the workspace around an execution, played with files that the test writes in place of a program.
#include "supervisor/executions/workspace_guard.h"

#include "jail/execution/execution.h"
#include "jail/execution/outcome.h"
#include "policies/policy.h"
#include "supervisor/tenants/tenant.h"
#include "supervisor/upstream/calls/disk_account.h"
#include "tests/supervisor/tenants/scene.h"

namespace fs = std::filesystem;
using executions::WorkspaceGuard;
using Room = executions::WorkspaceGuard::Room;

namespace {

constexpr uint64_t kQuotaBytes = 4 << 20, kQuotaFiles = 10, kFileLimit = 8 << 20;

struct Guarded {
  TempDirectory temp;
  Loop loop;
  std::shared_ptr<tenants::Tenant> tenant;
  fs::path workspace = temp.path() / "acme/workspace";
  std::optional<WorkspaceGuard> guard;
  jail::Report report;

  Guarded() {
    policies::Policy policy;
    policy.quota = {kQuotaBytes, kQuotaFiles, 10, 1 << 20};
    Fd state = open_directory(temp.path().string()).value();
    tenant = tenants::Tenant::open(loop, state.get(), "acme", policy).value();
    report.outcome = jail::Outcome::ok;
    guard.emplace(loop, tenant);
  }
  void put(const std::string& name, size_t bytes) { Scene::put(workspace / name, std::string(bytes, 'x')); }
  Result<> admit() { return wait_for(loop, guard->admit(kFileLimit)); }
  void begin() {
    REQUIRE(admit());
    guard->begin();
    auto reserved = start(guard->started());
    loop.run_until([&] { return reserved.done(); });
  }
  executions::WorkspaceEffects finish() { return wait_for(loop, guard->finish(report, {})); }
};

}  // namespace

TEST_CASE("the guard names what a program changed, and counts what it read no higher than the files are", "[guard]") {
  Guarded s;
  s.put("old", 100);
  s.put("gone", 10);
  s.begin();
  s.put("old", 200);
  s.put("new", 50);
  fs::remove(s.workspace / "gone");
  s.report.read_bytes = 1'000'000;
  const auto effects = s.finish();
  REQUIRE(effects.changes);
  CHECK(effects.changes->created.paths == std::vector<std::string>{"new"});
  CHECK(effects.changes->modified.paths == std::vector<std::string>{"old"});
  CHECK(effects.changes->deleted.paths == std::vector<std::string>{"gone"});
  CHECK_FALSE(effects.peers_wrote);
  CHECK_FALSE(effects.quota);
  CHECK(s.report.outcome == jail::Outcome::ok);
  CHECK(s.report.read_bytes == 250);
  CHECK(effects.read_tokens > 0);
}

TEST_CASE("two executions at once in one workspace know of each other", "[guard]") {
  Guarded s;
  s.begin();
  {
    WorkspaceGuard other(s.loop, s.tenant);
    REQUIRE(wait_for(s.loop, other.admit(kFileLimit)));
    other.begin();
  }
  CHECK(s.finish().peers_wrote);
}

TEST_CASE("the limit of one file is what the workspace has room for", "[guard]") {
  Guarded s;
  SECTION("an empty workspace") {
    REQUIRE(s.admit());
    CHECK(s.guard->room() == Room::cut);  // the quota is smaller than the policy's limit of one file
    CHECK(s.guard->file_bytes() == kQuotaBytes);
  }
  SECTION("much is left, and the policy's limit is smaller") {
    REQUIRE(wait_for(s.loop, s.guard->admit(1 << 20)));
    CHECK(s.guard->room() == Room::enough);
    CHECK(s.guard->file_bytes() == 1 << 20);
  }
  SECTION("a program may write on in the largest file") {
    s.put("largest", 3 << 20);
    REQUIRE(s.admit());
    CHECK(s.guard->room() == Room::cut);
    CHECK(s.guard->file_bytes() >= kQuotaBytes);
    CHECK(s.guard->file_bytes() < kFileLimit);
  }
  SECTION("over the quota, programs may only delete") {
    s.put("large", kQuotaBytes + 1);
    REQUIRE(s.admit());
    CHECK(s.guard->room() == Room::none);
    CHECK(s.guard->file_bytes() == 1);
    CHECK(s.guard->full().code == Code::exhausted);
    CHECK(s.guard->full().hint.find("delete files first") != std::string::npos);
  }
}

TEST_CASE("with more than twice as many files as allowed nothing runs", "[guard]") {
  Guarded s;
  for (uint64_t i = 0; i <= 2 * kQuotaFiles; i++) s.put("f" + std::to_string(i), 1);
  const auto admitted = s.admit();
  REQUIRE_FALSE(admitted);
  CHECK(admitted.error().code == Code::exhausted);
}

TEST_CASE("a program that wrote beyond the quota between two counts did not succeed", "[guard]") {
  Guarded s;
  s.begin();
  s.put("large", kQuotaBytes + 1);
  const auto effects = s.finish();
  CHECK(s.report.outcome == jail::Outcome::disk);
  REQUIRE(effects.quota);
  CHECK(effects.quota->rule == "quota.workspace_bytes");
}

TEST_CASE("in a full workspace a program that deletes succeeds, and one that adds does not", "[guard]") {
  Guarded s;
  s.put("large", kQuotaBytes + 100);
  s.begin();
  SECTION("it deletes") {
    s.put("large", kQuotaBytes + 50);
    const auto effects = s.finish();
    CHECK(s.report.outcome == jail::Outcome::ok);
    CHECK_FALSE(effects.quota);
  }
  SECTION("it adds") {
    s.put("large", kQuotaBytes + 101);
    CHECK(s.finish().quota);
    CHECK(s.report.outcome == jail::Outcome::disk);
  }
}

TEST_CASE("while the program runs, the guard sees that it wrote too much", "[guard]") {
  Guarded s;
  s.begin();
  CHECK_FALSE(s.guard->is_over_quota());
  s.put("large", kQuotaBytes + 1);
  s.loop.run_until([&] { return s.guard->is_over_quota(); });
  CHECK(s.guard->is_over_quota());
}

TEST_CASE("the files of a cancelled execution are counted before the next write", "[guard]") {
  Guarded s;
  s.begin();
  s.put("large", kQuotaBytes + 1);
  s.guard.reset();
  auto path = RelativePath::parse("small").value();
  const auto written = wait_for(s.loop, s.tenant->workspace().write(path, "x", tenants::WriteMode::replace));
  REQUIRE_FALSE(written);
  CHECK(written.error().code == Code::exhausted);
}

TEST_CASE("files without a name count while a jail holds them", "[guard]") {
  Guarded s;
  s.put("named", 1 << 20);
  s.begin();
  {
    const auto account = calls::disk_account_of(s.tenant, "a test");
    REQUIRE(account.holds);
    jail::HeldFiles files;
    files.bytes = kQuotaBytes - (2 << 20);
    files.files = 2;
    account.holds(files);
    CHECK(s.tenant->workspace().quota().remaining().bytes == 1 << 20);
    CHECK(s.tenant->workspace().quota().remaining().files == kQuotaFiles - 3);
    CHECK(s.tenant->workspace().quota().within());
    files.bytes = kQuotaBytes;
    account.holds(files);
    s.loop.run_until([&] { return s.guard->is_over_quota(); });
    const auto effects = s.finish();
    CHECK(s.report.outcome == jail::Outcome::disk);
    REQUIRE(effects.quota);
    CHECK(effects.quota->what.find("without a name") != std::string::npos);
    account.holds({});
  }
  CHECK(s.tenant->workspace().quota().remaining().bytes == kQuotaBytes - (1 << 20));
}

TEST_CASE("a jail that holds more files than can be counted is over its quota", "[guard]") {
  Guarded s;
  s.begin();
  const auto account = calls::disk_account_of(s.tenant, "a test");
  jail::HeldFiles files;
  files.is_partial = true;
  account.holds(files);
  s.loop.run_until([&] { return s.guard->is_over_quota(); });
  CHECK(s.guard->is_over_quota());
}

TEST_CASE("a program that ends at the disk's floor gets no advice about its quota", "[guard]") {
  Guarded s;
  s.begin();
  s.put("large", kQuotaBytes + 1);
  s.report.outcome = jail::Outcome::disk;
  s.report.at_disk_floor = true;
  CHECK_FALSE(s.finish().quota);
}
