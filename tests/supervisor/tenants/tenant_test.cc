#include "supervisor/tenants/tenant.h"

#include "policies/policy.h"
#include "policies/store.h"
#include "supervisor/protocol/mcp/context.h"
#include "supervisor/tenants/requester.h"
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
    Scene::put(policies / "small.json", R"({"extends": "default", "workspaces": ["*"], "quota": {"workspace_bytes": )" +
                                            std::to_string(bytes) + R"(, "executions_kept": 2}})");
  }
  void rules(const std::string& list) { Scene::put(policies / "tenants.json", R"({"rules": )" + list + "}"); }
  Result<std::shared_ptr<Member>> admit(uid_t uid) { return registry->admit(mcp::Principal({1, uid, uid, {}})); }
};

}  // namespace

TEST_CASE("a peer gets its tenant, with private folders", "[tenants]") {
  Daemon daemon;
  auto member = daemon.admit(1001);
  REQUIRE(member);
  CHECK((*member)->tenant->name() == "one");
  CHECK((*member)->policy->name == "small");
  for (const char* folder :
       {"tenants", "tenants/one", "tenants/one/workspace", "tenants/one/executions", "tenants/one/staging"})
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
  auto item = daemon.admit(1001).value(), two = daemon.admit(1002).value();
  auto before = item->policy;
  daemon.small_quota(2 << 20);
  daemon.rules(
      R"([{"uid": 1001, "tenant": "one", "policy": "small"}, {"uid": 1002, "tenant": "moved", "policy": "default"}])");
  *daemon.store = daemon.store->reread().value();
  daemon.registry->apply_policies();
  CHECK_FALSE(item->revoked);
  CHECK(item->policy != before);
  CHECK(before->quota.workspace_bytes == 1 << 20);  // who began with it keeps it
  CHECK(item->tenant->workspace().quota().limits().bytes == 2 << 20);
  CHECK(two->revoked);
  CHECK(daemon.admit(1002).value()->tenant->name() == "moved");
}

TEST_CASE("each connection of a principal has its own member", "[tenants]") {
  Daemon daemon;
  auto first = daemon.admit(1001).value(), second = daemon.admit(1001).value();
  CHECK(first != second);
  CHECK(first->principal.name() == second->principal.name());
  CHECK(std::get<policies::Peer>(first->credentials).uid == 1001);
  auto no_client = daemon.registry->admit(mcp::Principal());
  REQUIRE_FALSE(no_client);
  CHECK(no_client.error().code == Code::denied);
}

TEST_CASE("a request is made for its connection's member, or the workspace that it names", "[tenants]") {
  Daemon daemon;
  auto member = daemon.admit(1001).value();
  mcp::RequestContext context(daemon.loop, {"1"}, mcp::Version::v2025_06_18, nullptr);
  CHECK_THROWS_AS(daemon.registry->requester_of(context), std::logic_error);  // a connection without data
  struct Other : mcp::ConnectionUser {};
  context.user = std::make_shared<Other>();
  CHECK_THROWS_AS(member_of(context), std::logic_error);
  context.user = member;
  context.principal = member->principal;
  CHECK(&member_of(context) == member.get());
  auto own = daemon.registry->requester_of(context);
  REQUIRE(own);
  CHECK(own->tenant == member->tenant);
  CHECK(own->policy == member->policy);
  CHECK(own->principal.name() == "uid:1001");
  CHECK(own->trace.empty());
  context.meta = {{"org.warder/workspace", "reports"},
                  {"traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}};
  auto named = daemon.registry->requester_of(context);
  REQUIRE(named);
  CHECK(named->tenant->id() == TenantId{"one", "reports"});
  CHECK(named->tenant->is_workspace());
  CHECK_FALSE(named->trace.empty());
  context.meta["org.warder/workspace"] = 7;
  CHECK(daemon.registry->requester_of(context).error().what == "_meta: org.warder/workspace is not a string");
  context.meta["org.warder/workspace"] = "../x";
  CHECK(daemon.registry->requester_of(context).error().code == Code::denied);
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

TEST_CASE("what a killed daemon left unfinished goes, and nothing else", "[tenants]") {
  Daemon daemon;
  const fs::path item = daemon.state / "tenants/one", elsewhere = daemon.temp.path() / "elsewhere";
  for (const fs::path& folder :
       {item / "unfinished", item / "workspace", item / "workspaces/.removed-old/workspace/a/b",
        item / "workspaces/.removed-link", item / "workspaces/kept", elsewhere})
    fs::create_directories(folder);
  Scene::put(elsewhere / "file", "x");
  fs::create_directory_symlink(elsewhere, item / "workspaces/.removed-link/elsewhere");
  Scene::put(item / "workspaces/.removed-old/workspace/a/b/file", "x");
  Scene::put(item / "unfinished/.warder-0123456789abcdef", "x");
  fs::create_symlink(elsewhere / "file", item / "unfinished/.warder-0000000000000000");
  const auto peers = {".warder-0123456789abcdeF", ".warder-0123456789abcdef0", ".warder-", "mine"};
  for (const char* name : peers) Scene::put(item / "unfinished" / name, "x");
  Scene::put(item / "workspace/.warder-0123456789abcdef", "a user's");

  wait_for(daemon.loop, daemon.registry->expire_workspaces());  // nobody of the tenant is connected
  CHECK_FALSE(fs::exists(item / "workspaces/.removed-old"));
  CHECK_FALSE(fs::exists(item / "workspaces/.removed-link"));
  CHECK(fs::exists(item / "workspaces/kept"));

  auto member = daemon.admit(1001).value();
  CHECK_FALSE(fs::exists(item / "unfinished/.warder-0123456789abcdef"));
  CHECK_FALSE(fs::is_symlink(item / "unfinished/.warder-0000000000000000"));
  CHECK(Scene::get(elsewhere / "file") == "x");
  for (const char* name : peers) CHECK(fs::exists(item / "unfinished" / name));
  CHECK(Scene::get(item / "workspace/.warder-0123456789abcdef") == "a user's");
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

TEST_CASE("a named workspace shares nothing with its tenant's own or with another", "[tenants]") {
  Daemon daemon;
  daemon.rules(
      R"([{"uid": 1001, "tenant": "one", "policy": "small"}, {"uid": 1002, "tenant": "two", "policy": "small"}])");
  *daemon.store = daemon.store->reread().value();
  auto member = daemon.admit(1001).value();
  CHECK(daemon.registry->workspace(*member, "default").value() == member->tenant);
  CHECK(daemon.registry->workspace(*member, "").value() == member->tenant);
  auto a = daemon.registry->workspace(*member, "customer_a").value();
  auto b = daemon.registry->workspace(*member, "customer_b").value();
  CHECK(a->name() == "one/customer_a");
  CHECK(a->account() == "one");
  CHECK(daemon.registry->workspace(*member, "customer_a").value() == a);
  REQUIRE(wait_for(daemon.loop, a->workspace().write(Scene::path("a"), "mine", WriteMode::create)));
  for (const auto& other : {b, member->tenant})
    CHECK(other->workspace().read(Scene::path("a"), 0, 10).error().code == Code::not_found);
  CHECK(fs::exists(daemon.state / "tenants/one/workspaces/customer_a/workspace/a"));
  CHECK(daemon.registry->find({"one", "customer_a"}) == a);
  CHECK(daemon.registry->find_text("one/customer_a") == a);
  CHECK(daemon.registry->find_text("one") == member->tenant);
  for (const char* text : {"one/", "one/customer_a/", "one/customer_a/x", "one//customer_a", "customer_a", ""})
    CHECK(daemon.registry->find_text(text) == nullptr);
  CHECK(daemon.registry->names() == std::vector<std::string>{"one"});
  auto theirs = daemon.admit(1002).value();
  CHECK(daemon.registry->workspace(*theirs, "customer_a").value() != a);
  CHECK(a->workspace().quota().limits().bytes == 1 << 20);  // each has its own
}

TEST_CASE("names of workspaces may have capitals, and differ in more than these", "[tenants]") {
  Daemon daemon;
  Scene::put(daemon.policies / "small.json", R"({"extends": "default", "workspaces": ["customer_*", "D*"]})");
  *daemon.store = daemon.store->reread().value();
  auto member = daemon.admit(1001).value();
  auto capital = daemon.registry->workspace(*member, "customer_A");
  REQUIRE(capital);
  CHECK((*capital)->name() == "one/customer_A");
  CHECK(fs::exists(daemon.state / "tenants/one/workspaces/customer_A/workspace"));
  for (const char* name : {"customer_a", "Default"}) {
    CAPTURE(name);
    auto refused = daemon.registry->workspace(*member, name);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == Code::invalid);
    CHECK(refused.error().what.find("only in upper and lower case") != std::string::npos);
    CHECK_FALSE(fs::exists(daemon.state / "tenants/one/workspaces" / name));
  }
  CHECK(daemon.registry->workspace(*member, "customer_A").value() == *capital);
}

TEST_CASE("a workspace that a policy does not allow, or one too many, is refused with its rule", "[tenants]") {
  Daemon daemon;
  Scene::put(daemon.policies / "small.json",
             R"({"extends": "default", "workspaces": ["customer-*"], "named_workspaces": {"max": 2}})");
  *daemon.store = daemon.store->reread().value();
  auto member = daemon.admit(1001).value();
  for (const char* name : {"other", "../x", "customer-/x", "Customer-1", ".", "customer-\xff"}) {
    CAPTURE(name);
    auto refused = daemon.registry->workspace(*member, name);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == Code::denied);
    CHECK(refused.error().rule == "workspaces");
  }
  REQUIRE(daemon.registry->workspace(*member, "customer-1"));
  REQUIRE(daemon.registry->workspace(*member, "customer-2"));
  auto third = daemon.registry->workspace(*member, "customer-3");
  REQUIRE_FALSE(third);
  CHECK(third.error().rule == "named_workspaces.max");
  CHECK(daemon.registry->workspace(*member, "customer-2"));
  CHECK_FALSE(fs::exists(daemon.state / "tenants/one/workspaces/customer-3"));
}

TEST_CASE("a workspace that nobody uses is announced first and removed later, and use takes that back", "[tenants]") {
  Daemon daemon;
  Scene::put(daemon.policies / "small.json", R"({"extends": "default", "workspaces": ["*"],
             "named_workspaces": {"max": 8, "idle_seconds": 1000, "warning_seconds": 100}})");
  *daemon.store = daemon.store->reread().value();
  auto member = daemon.admit(1001).value();
  const fs::path all = daemon.state / "tenants/one/workspaces";
  auto expire = [&] { return wait_for(daemon.loop, daemon.registry->expire_workspaces()); };
  auto age = [&](const fs::path& file, int seconds) {
    fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::seconds(seconds));
  };
  for (const char* name : {"used", "idle"}) {
    auto workspace = daemon.registry->workspace(*member, name).value();
    REQUIRE(wait_for(daemon.loop, workspace->workspace().write(Scene::path("f"), "x", WriteMode::create)));
  }
  CHECK(expire() == std::chrono::seconds(60));
  CHECK_FALSE(fs::exists(all / "idle/warned"));
  age(all / "idle/used", 950);
  expire();
  REQUIRE(fs::exists(all / "idle/warned"));
  CHECK_FALSE(fs::exists(all / "used/warned"));
  age(all / "idle/used", 5000);
  expire();
  CHECK(fs::exists(all / "idle/workspace/f"));  // not before its warning is as old as promised
  age(all / "idle/warned", 101);
  REQUIRE(daemon.registry->workspace(*member, "idle"));  // somebody uses it
  expire();
  CHECK(fs::exists(all / "idle/workspace/f"));
  CHECK_FALSE(fs::exists(all / "idle/warned"));
  age(all / "idle/used", 5000);
  expire();
  age(all / "idle/warned", 101);
  auto reserved = daemon.registry->workspace(*member, "used").value();
  expire();
  CHECK_FALSE(fs::exists(all / "idle"));
  CHECK(fs::exists(all / "used/workspace/f"));
  CHECK(daemon.registry->find({"one", "idle"}) == nullptr);
  // Nobody is connected: by the rules of its last use.
  reserved.reset();
  member.reset();
  age(all / "used/used", 5000);
  CHECK(expire() == std::chrono::seconds(60));
  REQUIRE(fs::exists(all / "used/warned"));
  age(all / "used/warned", 101);
  Scene::put(all / "used/used", "1000");  // not as it is written: nothing goes by mistake
  age(all / "used/used", 5000);
  expire();
  CHECK(fs::exists(all / "used/workspace/f"));
  Scene::put(all / "used/used", "1000 100\n");
  age(all / "used/used", 5000);
  expire();
  CHECK_FALSE(fs::exists(all / "used"));
}
