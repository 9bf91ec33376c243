#include "supervisor/tenants/tenant.h"

#include "tests/supervisor/tenants/scene.h"

namespace fs = std::filesystem;
using namespace tenants;

namespace {

// A store with two policies and rules for a few users.
struct Daemon {
  TempDirectory temp;
  Loop loop;
  fs::path policies = temp.path() / "policies";
  fs::path state = temp.path() / "state";
  std::optional<policies::Store> store;
  std::optional<Registry> registry;

  Daemon() {
    fs::create_directories(policies);
    fs::create_directories(state);
    for (const auto& entry : fs::directory_iterator(WARDER_POLICIES))
      if (entry.path().extension() == ".json" || entry.is_directory())
        fs::copy(entry.path(), policies / entry.path().filename(), fs::copy_options::recursive);
    small_quota(1 << 20);
    rules(
        R"([{"uid": 1001, "tenant": "one", "policy": "small"}, {"uid": 1002, "tenant": "user-{uid}", "policy": "default"}])");
    store.emplace(policies::Store::load({policies.string()}, policies::Mode::checkout).value());
    registry.emplace(Registry::open(loop, open_directory(state.string())->get(), *store).value());
  }
  void small_quota(int bytes) {
    Scene::put(policies / "small.json", R"({"extends": "default", "quota": {"workspace_bytes": )" +
                                            std::to_string(bytes) + R"(, "executions_kept": 2}})");
  }
  void rules(const std::string& list) { Scene::put(policies / "tenants.json", R"({"rules": )" + list + "}"); }
  Result<std::shared_ptr<Member>> admit(uid_t uid) { return registry->admit(policies::Peer{uid, uid, {}}); }
};

}  // namespace

TEST_CASE("a peer gets its tenant, with private folders", "[tenants]") {
  Daemon daemon;
  auto member = daemon.admit(1001);
  REQUIRE(member);
  CHECK((*member)->tenant->name() == "one");
  CHECK((*member)->policy->name == "small");
  for (const char* folder : {"tenants", "tenants/one", "tenants/one/workspace", "tenants/one/executions"})
    CHECK(fs::status(daemon.state / folder).permissions() == fs::perms::owner_all);
  CHECK((*member)->tenant->workspace().quota().limits().bytes == 1 << 20);
  auto other = daemon.admit(1002);
  REQUIRE(other);
  CHECK((*other)->tenant->name() == "user-1002");
  CHECK((*other)->tenant != (*member)->tenant);
  CHECK(daemon.registry->names() == std::vector<std::string>{"one", "user-1002"});
}

TEST_CASE("connections of one tenant share its files; nobody else does", "[tenants]") {
  Daemon daemon;
  auto first = daemon.admit(1001).value(), second = daemon.admit(1001).value(), other = daemon.admit(1002).value();
  auto written = wait_for(daemon.loop, first->tenant->workspace().write(Scene::path("a"), "mine", WriteMode::create));
  REQUIRE(written);
  CHECK(first->tenant == second->tenant);
  CHECK(second->tenant->workspace().read(Scene::path("a"), 0, 10)->bytes == "mine");
  CHECK(other->tenant->workspace().read(Scene::path("a"), 0, 10).error().code == Code::not_found);
}

TEST_CASE("a peer without a rule is refused", "[tenants]") {
  Daemon daemon;
  auto stranger = daemon.admit(4242);
  REQUIRE_FALSE(stranger);
  CHECK(stranger.error().code == Code::denied);
  CHECK(fs::is_empty(daemon.state / "tenants"));
}

TEST_CASE("a reload changes policies and revokes, the tenant's files stay", "[tenants]") {
  Daemon daemon;
  auto one = daemon.admit(1001).value(), two = daemon.admit(1002).value();
  auto before = one->policy;
  daemon.small_quota(2 << 20);
  daemon.rules(
      R"([{"uid": 1001, "tenant": "one", "policy": "small"}, {"uid": 1002, "tenant": "moved", "policy": "default"}])");
  REQUIRE(daemon.store->reload());
  daemon.registry->apply_policies();
  CHECK_FALSE(one->revoked);
  CHECK(one->policy != before);
  CHECK(before->quota.workspace_bytes == 1 << 20);  // who began with it keeps it
  CHECK(one->tenant->workspace().quota().limits().bytes == 2 << 20);
  CHECK(two->revoked);
  CHECK(daemon.admit(1002).value()->tenant->name() == "moved");
}

TEST_CASE("a tenant's folder that is a link is refused", "[tenants]") {
  Daemon daemon;
  fs::create_directories(daemon.temp.path() / "elsewhere");
  fs::create_symlink(daemon.temp.path() / "elsewhere", daemon.state / "tenants/one");
  auto member = daemon.admit(1001);
  REQUIRE_FALSE(member);
  CHECK(member.error().what.find("tenant 'one': ") == 0);
  CHECK(fs::is_empty(daemon.temp.path() / "elsewhere"));
}

TEST_CASE("the names of tenants are checked", "[tenants]") {
  Daemon daemon;
  auto policy = daemon.store->find("default");
  REQUIRE(policy);
  auto name =
      GENERATE(values<std::string>({"", ".", "..", "../x", "a/b", "A", "a b", "a\n", std::string(65, 'a'), "\xFF"}));
  CAPTURE(name);
  auto tenant = Tenant::open(daemon.loop, open_directory(daemon.state.string())->get(), name, *policy);
  REQUIRE_FALSE(tenant);
  CHECK(tenant.error().code == Code::invalid);
}
