// The sealed vault: what survives a restart, what damage costs, and what a thief of the file learns.
#include "supervisor/tenants/vault.h"

#include <algorithm>
#include <latch>

#include "supervisor/base/durable.h"
#include "tests/fresh_meter.h"
#include "tests/supervisor/tenants/scene.h"

using namespace std::chrono_literals;
using tenants::MasterKey, tenants::SealedVault;

namespace {

struct Home {
  Loop loop;
  std::unique_ptr<WorkerThread> disk = WorkerThread::start(loop).value();
  TempDirectory temp;
  Fd state = open_directory(temp.path().string()).value();
  std::filesystem::path log = temp.path() / "vault/log";

  MasterKey key() const { return MasterKey::load(state.get(), "").value(); }
  Result<std::shared_ptr<SealedVault>> try_open(const std::string& tenant = "acme", policies::VaultLimits limits = {}) {
    return wait_for(loop, SealedVault::open(loop, *disk, state.get(), key().of_vault(tenant), limits));
  }
  std::shared_ptr<SealedVault> open(policies::VaultLimits limits = {}) {
    auto vault = try_open("acme", limits);
    REQUIRE(vault);
    return *std::move(vault);
  }
  Result<> settle(SealedVault& vault) { return wait_for(loop, vault.settle()); }
  // One token after the other, each settled alone.
  void fill(std::initializer_list<std::string> texts) {
    auto vault = open();
    for (const auto& text : texts) {
      REQUIRE(vault->keep("[T_" + text + "]", "secret of " + text));
      REQUIRE(settle(*vault));
    }
  }
};

}  // namespace

TEST_CASE("a sealed vault knows its tokens after a restart, and only what was settled", "[vault]") {
  Home home;
  {
    auto vault = home.open();
    REQUIRE(home.settle(*vault));
    CHECK_FALSE(std::filesystem::exists(home.log));  // nothing to remember: no file
    REQUIRE(vault->keep("[EMAIL_aaaaaa]", "ada@lovelace.org"));
    REQUIRE(home.settle(*vault));
    REQUIRE(vault->keep("[SSN_bbbbbb]", "078-05-1120"));
    REQUIRE(home.settle(*vault));
    REQUIRE(vault->keep("[PHONE_cccccc]", "555-123-4567"));
    CHECK(vault->find("[PHONE_cccccc]"));
  }
  auto vault = home.open();
  CHECK(vault->find("[EMAIL_aaaaaa]") == "ada@lovelace.org");
  CHECK(vault->find("[SSN_bbbbbb]") == "078-05-1120");
  CHECK_FALSE(vault->find("[PHONE_cccccc]"));
  CHECK(vault->damage().empty());
  CHECK((std::filesystem::status(home.log).permissions() & std::filesystem::perms(077)) ==
        std::filesystem::perms::none);
}

TEST_CASE("the same text has the same token after a restart", "[vault]") {
  Home home;
  const auto detector = policies::PiiDetector::make({}).value();
  auto token = [&] {
    auto vault = home.open();
    return policies::sanitize("ada@lovelace.org", *detector, *vault, FreshMeter())->text;
  };
  CHECK(token() == token());
}

TEST_CASE("the file of a vault says nothing without the key", "[vault]") {
  Home home;
  home.fill({"ada", "grace"});
  const std::string bytes = Scene::get(home.log);
  for (const char* plain : {"secret", "ada", "grace", "[T_"}) CHECK(bytes.find(plain) == std::string::npos);

  SECTION("nor with another tenant's") {
    auto other = home.try_open("other");
    REQUIRE_FALSE(other);
    CHECK(other.error().code == Code::denied);
    CHECK_THAT(other.error().what, Catch::Contains("sealed with another key"));
  }
  SECTION("nor with another daemon's, and it stays as it is for the right one") {
    const std::string key = Scene::get(home.temp.path() / "master.key");
    std::filesystem::remove(home.temp.path() / "master.key");
    REQUIRE_FALSE(home.try_open());
    CHECK(Scene::get(home.log) == bytes);
    Scene::put(home.temp.path() / "master.key", key);
    CHECK(home.open()->find("[T_ada]") == "secret of ada");
  }
}

TEST_CASE("a log with a torn end loses only what was torn, wherever that is", "[vault]") {
  Home home;
  home.fill({"ada", "grace", "edsger"});
  const std::string text = Scene::get(home.log);
  const size_t last = [&] {  // where the third record begins: all three are of similar length
    Home shorter;
    shorter.fill({"ada", "grace"});
    return Scene::get(shorter.log).size();
  }();
  for (size_t size = last; size < text.size(); size += 7) {
    CAPTURE(size);
    Scene::put(home.log, text.substr(0, size));
    auto vault = home.open();
    CHECK(vault->find("[T_ada]"));
    CHECK(vault->find("[T_grace]"));
    CHECK_FALSE(vault->find("[T_edsger]"));
    CHECK(vault->damage().empty());
    REQUIRE(vault->keep("[T_new]", "text"));  // goes on where the good ones end
    REQUIRE(home.settle(*vault));
    vault.reset();
    CHECK(home.open()->find("[T_new]") == "text");
  }
}

TEST_CASE("a damaged record costs itself; the file is set aside", "[vault]") {
  Home home;
  home.fill({"ada", "grace", "edsger"});
  std::string bytes = Scene::get(home.log);
  const size_t in_second = bytes.size() / 2 + 10;
  bytes[in_second] = static_cast<char>(bytes[in_second] ^ 1);
  Scene::put(home.log, bytes);
  auto vault = home.open();
  CHECK(vault->size() == 2);
  CHECK_THAT(vault->damage(), Catch::Contains("1 records"));
  REQUIRE(home.settle(*vault));
  CHECK(Scene::get(home.temp.path() / "vault/log.damaged") == bytes);
  vault.reset();
  vault = home.open();
  CHECK(vault->damage().empty());
  CHECK(vault->size() == 2);
}

TEST_CASE("a record of an older log of the same vault is no record of the new one", "[vault]") {
  Home home;
  home.fill({"ada"});
  const std::string older = Scene::get(home.log);
  std::filesystem::remove(home.log);
  home.fill({"grace"});
  const std::string newer = Scene::get(home.log);
  const size_t header = 15 + 24 + 16;
  Scene::put(home.log, newer + older.substr(header));
  auto vault = home.open();
  CHECK_FALSE(vault->find("[T_ada]"));
  CHECK(vault->find("[T_grace]"));
  CHECK_FALSE(vault->damage().empty());
}

TEST_CASE("a vault's tokens expire across restarts, and the log is rewritten without them", "[vault]") {
  Home home;
  policies::VaultLimits limits;
  limits.lifetime = 60s;
  const std::string text(10'000, 'x');
  {
    auto vault = home.open(limits);
    REQUIRE(vault->keep("[OLD_aaaaaa]", text));
    REQUIRE(home.settle(*vault));
    vault->pass_time_for_test(61s);
    CHECK_FALSE(vault->find("[OLD_aaaaaa]"));
    for (int i = 0; i < 300; i++) {  // 3 MB
      REQUIRE(vault->keep("[NEW_" + std::to_string(i) + "]", text));
      REQUIRE(home.settle(*vault));
      vault->pass_time_for_test(1s);
    }
    CHECK(vault->size() <= 300);
  }
  CHECK(std::filesystem::file_size(home.log) < 2'500'000);
  CHECK_FALSE(std::filesystem::exists(home.temp.path() / "vault/log.new"));
}

TEST_CASE("a token that is used again is written again only when it has aged", "[vault]") {
  Home home;
  policies::VaultLimits limits;
  limits.lifetime = 800s;
  auto vault = home.open(limits);
  auto use = [&] {
    REQUIRE(vault->keep("[T_aaaaaa]", "text"));
    REQUIRE(home.settle(*vault));
    return std::filesystem::file_size(home.log);
  };
  const auto size = use();
  CHECK(use() == size);
  vault->pass_time_for_test(90s);
  CHECK(use() == size);
  vault->pass_time_for_test(20s);
  CHECK(use() > size);
}

// A job that keeps the thread busy until it is told to go on: a disk that does not answer.
struct StuckDisk {
  std::latch started{1}, may_go_on{1};
  explicit StuckDisk(Home& home) {
    home.loop.spawn(run(*home.disk));
    started.wait();
  }
  Task<> run(WorkerThread& disk) {
    WorkerThread::Job job = [this]() -> Result<> {
      started.count_down();
      may_go_on.wait();
      return {};
    };
    (void)co_await disk.run(job);
  }
};

TEST_CASE("those who wait for a vault at the same time share one write, and the loop goes on meanwhile", "[vault]") {
  Home home;
  home.fill({"first"});
  auto vault = home.open();
  StuckDisk stuck(home);
  const uint64_t before = durable::calls();
  std::vector<Started<Result<>>> settling;
  for (const char* name : {"[T_a]", "[T_b]", "[T_c]", "[T_d]"}) {
    REQUIRE(vault->keep(name, "text"));
    settling.push_back(start(vault->settle()));
  }
  REQUIRE(vault->keep("[T_a]", "text"));  // known, and on its way
  settling.push_back(start(vault->settle()));
  bool turned = false;
  home.loop.defer([&] { turned = true; });
  home.loop.run_until([&] { return turned; });
  auto are_done = [&] {
    return std::count_if(settling.begin(), settling.end(), [](auto& item) { return item.done(); });
  };
  CHECK(are_done() == 0);
  stuck.may_go_on.count_down();
  home.loop.run_until([&] { return are_done() == 5; });
  CHECK(durable::calls() - before == 2);  // the first, and those that came while it waited
  CHECK(durable::calls_on_loop() == 0);
  vault.reset();
  CHECK(home.open()->size() == 5);
}

TEST_CASE("a vault is opened beside the loop, and whoever asked for it may leave", "[vault]") {
  Home home;
  home.fill({"first"});
  StuckDisk stuck(home);
  auto open = [&] {
    return start(SealedVault::open(home.loop, *home.disk, home.state.get(), home.key().of_vault("acme")));
  };
  auto opening = open();
  { auto cancelled = open(); }
  home.state.reset();  // the thread has a descriptor of its own
  bool turned = false;
  home.loop.defer([&] { turned = true; });
  home.loop.run_until([&] { return turned; });
  CHECK_FALSE(opening.done());
  stuck.may_go_on.count_down();
  home.loop.run_until([&] { return opening.done(); });
  auto collect = [](auto& from) -> Task<Result<std::shared_ptr<SealedVault>>> {
    auto vault = co_await from;
    co_return vault;
  };
  auto vault = wait_for(home.loop, collect(opening));
  REQUIRE(vault);
  CHECK((*vault)->find("[T_first]") == "secret of first");
}

TEST_CASE("a token is settled though its first user left, or its first write failed", "[vault]") {
  Home home;
  auto vault = home.open();
  {
    StuckDisk stuck(home);
    REQUIRE(vault->keep("[T_a]", "text"));
    { auto cancelled = start(vault->settle()); }
    REQUIRE(vault->keep("[T_a]", "text"));
    auto second = start(vault->settle());
    CHECK_FALSE(second.done());
    std::filesystem::create_directory(home.temp.path() / "vault/log");  // in the way of the first write
    stuck.may_go_on.count_down();
    home.loop.run_until([&] { return second.done(); });
  }
  std::filesystem::remove(home.temp.path() / "vault/log");
  REQUIRE(vault->keep("[T_a]", "text"));
  CHECK(home.settle(*vault));
  vault.reset();
  CHECK(home.open()->find("[T_a]") == "text");
}

TEST_CASE("a vault that cannot write says so and writes later", "[vault]") {
  Home home;
  auto vault = home.open();
  Scene::put(home.temp.path() / "vault/log.new", "");
  std::filesystem::create_directory(home.temp.path() / "vault/log");  // in the way
  REQUIRE(vault->keep("[T_aaaaaa]", "text"));
  CHECK_FALSE(home.settle(*vault));
  std::filesystem::remove(home.temp.path() / "vault/log");
  CHECK(home.settle(*vault));
  vault.reset();
  CHECK(home.open()->find("[T_aaaaaa]") == "text");
}

TEST_CASE("the daemon's key is made once, for its owner only, and refused when it is none", "[vault]") {
  Home home;
  const auto file = home.temp.path() / "master.key";
  const auto first = home.key().of_vault("acme");
  CHECK(home.key().of_vault("acme").seal == first.seal);
  CHECK(home.key().of_vault("acme").seal != home.key().of_vault("acm").seal);
  CHECK(first.seal != first.tokens);
  CHECK(std::filesystem::status(file).permissions() == std::filesystem::perms(0600));

  auto refused = [&] {
    auto key = MasterKey::load(home.state.get(), "");
    REQUIRE_FALSE(key);
    return key.error().what;
  };
  std::filesystem::permissions(file, std::filesystem::perms(0640));
  CHECK_THAT(refused(), Catch::Contains("other users"));
  std::filesystem::permissions(file, std::filesystem::perms(0600));
  const std::string good = Scene::get(file);
  for (const std::string& bad : {std::string(), std::string("00"), good.substr(1), "g" + good.substr(1), good + "00"}) {
    Scene::put(file, bad);
    CHECK_THAT(refused(), Catch::Contains("64 hexadecimal digits"));
  }
}

TEST_CASE("a systemd credential is the key, where there is one", "[vault]") {
  Home home;
  TempDirectory credentials;
  const auto own = home.key().of_vault("acme");
  CHECK(MasterKey::load(home.state.get(), credentials.path().string())->of_vault("acme").seal == own.seal);
  Scene::put(credentials.path() / "warder.key", std::string(64, 'a') + "\n");
  auto input = MasterKey::load(home.state.get(), credentials.path().string());
  REQUIRE(input);
  CHECK(input->of_vault("acme").seal != own.seal);
  Scene::put(credentials.path() / "warder.key", "no key");
  CHECK_FALSE(MasterKey::load(home.state.get(), credentials.path().string()));
}
