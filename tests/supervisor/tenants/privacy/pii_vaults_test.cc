#include "supervisor/tenants/privacy/pii_vaults.h"

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/catch.h"

namespace {

using privacy::PiiVaults;
using namespace std::chrono_literals;

// The end of one opening, which the test decides.
enum class End { vault, error, exception };

struct Scene {
  Loop loop;
  Event decided;
  End end = End::vault;
  int openings = 0;
  std::optional<PiiVaults> vaults;
  std::vector<Result<PiiVaults::VaultPtr>> got;
  std::vector<std::optional<Task<>>> tasks;  // last: cancelled first

  Scene() {
    vaults.emplace(loop, [this](const tenants::TenantId&) { return make(); });
    tasks.reserve(8);
  }
  Task<PiiVaults::VaultResult> make() {
    openings++;
    co_await decided;
    if (end == End::exception) throw std::runtime_error("no memory");
    if (end == End::error) co_return fail(Code::denied, "sealed with another key");
    co_return std::make_shared<policies::MemoryVault>();
  }
  Task<> wants(tenants::TenantId tenant) {
    auto vault = co_await vaults->of(tenant, 60s);
    got.push_back(std::move(vault));
  }
  Task<> wants_after_an_error(tenants::TenantId tenant) {
    auto vault = co_await vaults->of(tenant, 60s);
    decided = Event();
    if (!vault) vault = co_await vaults->of(tenant, 60s);
    got.push_back(std::move(vault));
  }
  void ask(const std::string& account) {
    tasks.emplace_back(wants({account}));
    tasks.back()->resume();
  }
  void decide(End how) {
    end = how;
    decided.fire();
    turn();
  }
  void turn() {
    for (int i = 0; i < 5; i++) uv_run(loop.uv(), UV_RUN_NOWAIT);
  }
};

}  // namespace

TEST_CASE("all callers of one tenant wait for one opening and get the same vault", "[pii_vaults]") {
  Scene scene;
  scene.ask("ada");
  scene.ask("ada");
  CHECK(scene.got.empty());
  scene.decide(End::vault);
  scene.ask("ada");
  REQUIRE(scene.got.size() == 3);
  for (const auto& item : scene.got) CHECK(item.value() == scene.got[0].value());
  CHECK(scene.openings == 1);
}

TEST_CASE("the error of an opening goes to all its callers, and the next caller opens again", "[pii_vaults]") {
  Scene scene;
  scene.ask("ada");
  scene.ask("ada");
  scene.decide(End::error);
  REQUIRE(scene.got.size() == 2);
  for (const auto& item : scene.got) CHECK(item.error().code == Code::denied);
  scene.end = End::vault;
  scene.ask("ada");
  REQUIRE(scene.got.size() == 3);
  CHECK(scene.got[2].has_value());
  CHECK(scene.openings == 2);
}

TEST_CASE("an opening that throws answers its callers, and the next caller opens again", "[pii_vaults]") {
  Scene scene;
  scene.ask("ada");
  scene.ask("ada");
  scene.decide(End::exception);
  REQUIRE(scene.got.size() == 2);
  for (const auto& item : scene.got) {
    CHECK(item.error().code == Code::internal);
    CHECK(item.error().what.find("vault") != std::string::npos);
  }
  scene.end = End::vault;
  scene.ask("ada");
  REQUIRE(scene.got.size() == 3);
  CHECK(scene.got[2].has_value());
}

TEST_CASE("the callers of an opening that is destroyed get an error", "[pii_vaults]") {
  Scene scene;
  scene.ask("ada");
  scene.ask("eve");
  scene.vaults.reset();
  scene.turn();
  REQUIRE(scene.got.size() == 2);
  for (const auto& item : scene.got) CHECK(item.error().code == Code::internal);
}

TEST_CASE("a caller that asks again at once waits for the next opening", "[pii_vaults]") {
  Scene scene;
  scene.tasks.emplace_back(scene.wants_after_an_error({"ada"}));
  scene.tasks.back()->resume();
  scene.decide(End::error);
  CHECK(scene.got.empty());
  CHECK(scene.openings == 2);
  scene.decide(End::vault);
  REQUIRE(scene.got.size() == 1);
  CHECK(scene.got[0].has_value());
}

TEST_CASE("an opening continues after its first caller was cancelled", "[pii_vaults]") {
  Scene scene;
  scene.ask("ada");
  scene.ask("ada");
  scene.tasks[0].reset();
  scene.decide(End::vault);
  REQUIRE(scene.got.size() == 1);
  CHECK(scene.got[0].has_value());
  CHECK(scene.openings == 1);
}
