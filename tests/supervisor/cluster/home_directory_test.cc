// HomeDirectory: homes in a bucket that loses them, homes of nodes that may be lost, and how many one account may have.
#include "supervisor/cluster/node/home_directory.h"

#include <fmt/format.h>

#include <filesystem>

#include "supervisor/base/random.h"
#include "supervisor/cluster/bus/subjects.h"
#include "tests/catch.h"
#include "tests/supervisor/cluster/memory_bus.h"
#include "tests/supervisor/cluster/trust_fixture.h"

namespace cluster {
namespace {

using namespace std::chrono_literals;
using trust_test::node_of;
using trust_test::record_of;

struct Homes {
  Loop loop;
  MemoryBroker broker{loop};
  std::unique_ptr<Bus> bus = broker.connect("n1"), other = broker.connect("n2");
  TrustRecord trust = record_of({node_of("n1", 1), node_of("n2", 2)});
  NodeSettings settings;
  NodeLease lease;
  std::optional<NodeDirectory> nodes;
  std::unique_ptr<HomeDirectory> homes;
  int moves = 0;

  Homes() {
    settings.node = "n1";
    settings.state = (std::filesystem::temp_directory_path() / ("warder-homes-" + random_hex(8))).string();
    std::filesystem::create_directory(settings.state);
    REQUIRE(lease.confirm(lease.begin_renewal(BootClock::now()), BootClock::now()));
    nodes.emplace(loop, *bus, settings, "b1", trust);
    nodes->begin();
    start();
  }
  ~Homes() {
    homes.reset();
    std::filesystem::remove_all(settings.state);
  }
  void start() {
    homes = std::make_unique<HomeDirectory>(loop, *bus, settings, *nodes, lease, [this] { moves++; });
    REQUIRE(homes->begin());
  }
  void until(const std::function<bool()>& done, const char* kind) {
    bool late = false;
    const Deadline deadline(loop, 20s, [&late] { late = true; });
    loop.run_until([&] { return late || done(); });
    if (late) FAIL("waited 20 s for " << kind);
  }
  template <class T>
  T run(Task<T> task) {
    std::optional<T> result;
    Scope scope(loop);
    struct Stored {
      static Task<> of(Task<T> task, std::optional<T>& result) { result.emplace(co_await std::move(task)); }
    };
    scope.spawn(Stored::of(std::move(task), result));
    until([&] { return result.has_value(); }, "a task");
    return *std::move(result);
  }
  std::string home_of(const std::string& account, const std::string& workspace) {
    std::string node;
    until(
        [&] {
          const auto found = run(homes->find({account, workspace}));
          if (found) node = found->record.node;
          return found.has_value();
        },
        "a home");
    return node;
  }
  std::string value(const std::string& key) {
    const auto bucket = run(other->open_bucket("homes", {}, 5s));
    if (!bucket) return {};
    const auto entry = run((*bucket)->get(key));
    return entry && *entry ? (*entry)->bytes : "";
  }
  bool is_remembered(const std::string& text) const {
    std::string all;
    if (FILE* file = std::fopen((settings.state + "/homes.json").c_str(), "re")) {
      char part[4096];
      for (size_t got; (got = std::fread(part, 1, sizeof part, file)) > 0;) all.append(part, got);
      std::fclose(file);
    }
    return all.find(text) != all.npos;
  }
};

}  // namespace

TEST_CASE_METHOD(Homes, "a home that the bus lost, or has with an older epoch, is put back", "[cluster]") {
  const std::string key = tenant_key("acme", "a");
  until([&] { return homes->is_current(); }, "the bucket");
  broker.write_value("homes", key, R"({"node":"n2","epoch":3})");
  until([&] { return home_of("acme", "a") == "n2"; }, "the record");
  broker.write_value("homes", key, R"({"node":"n1","epoch":2})");
  until([&] { return value(key) == R"({"node":"n2","epoch":3})"; }, "the newer epoch");
  until([&] { return is_remembered(R"("epoch":3)"); }, "the copy on the disk");
  homes.reset();
  broker.lose_bucket("homes");
  start();
  until([&] { return value(key) == R"({"node":"n2","epoch":3})"; }, "the lost record");
  CHECK(home_of("acme", "a") == "n2");
}

TEST_CASE_METHOD(Homes, "a home that was removed while this node was away is not put back", "[cluster]") {
  const std::string key = tenant_key("acme", "a");
  until([&] { return homes->is_current(); }, "the bucket");
  broker.write_value("homes", key, R"({"node":"n2","epoch":3})");
  until([&] { return is_remembered("n2"); }, "the copy on the disk");
  homes.reset();
  const auto bucket = run(other->open_bucket("homes", {}, 5s));
  REQUIRE(run((*bucket)->remove(key, std::nullopt)));
  start();
  until([&] { return home_of("acme", "a") == "n1"; }, "a new home");
  CHECK(value(key) == R"({"node":"n1","epoch":1})");
}

TEST_CASE_METHOD(Homes, "a remembered home of a node that the cluster does not have is not put back", "[cluster]") {
  const std::string key = tenant_key("acme", "a");
  until([&] { return homes->is_current(); }, "the bucket");
  broker.write_value("homes", key, R"({"node":"gone","epoch":3})");
  until([&] { return is_remembered("gone"); }, "the copy on the disk");
  homes.reset();
  broker.lose_bucket("homes");
  start();
  CHECK(home_of("acme", "a") == "n1");
  CHECK(value(key) == R"({"node":"n1","epoch":1})");
}

TEST_CASE_METHOD(Homes, "an account has at most 10,000 homes, and others still get theirs", "[cluster]") {
  until([&] { return homes->is_current(); }, "the bucket");
  for (int i = 0; i < 10'000; i++)
    broker.write_value("homes", tenant_key("acme", fmt::format("w{}", i)), R"({"node":"n1","epoch":1})");
  CHECK(home_of("acme", "w9999") == "n1");
  const auto refused = run(homes->find({"acme", "one-more"}));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::exhausted);
  CHECK(refused.error().hint == "use one that exists");
  CHECK(home_of("acme2", "a") == "n1");
}

TEST_CASE_METHOD(Homes, "a home is not taken while its node renews its lease", "[cluster]") {
  const std::string key = tenant_key("acme", "a");
  until([&] { return homes->is_current(); }, "the bucket");
  broker.write_value("homes", key, R"({"node":"n2","epoch":3})");
  until([&] { return home_of("acme", "a") == "n2"; }, "the record");
  REQUIRE(run(other->open_bucket("leases", {}, 5s)));
  struct Holder {
    static Task<> renew(Loop& loop, MemoryBroker& broker) {
      for (;;) {
        broker.write_value("leases", "n2", "a renewal");
        co_await sleep_for(loop, 100ms);
      }
    }
  };
  Scope holder(loop);
  holder.spawn(Holder::renew(loop, broker));
  const auto claimed = run(homes->claim({"acme", "a"}, {"n2", 3}, HomeDirectory::Claim::after_lease));
  REQUIRE_FALSE(claimed);
  CHECK(claimed.error().what == "the node n2 is alive and is the home");
  CHECK(value(key) == R"({"node":"n2","epoch":3})");
}

}  // namespace cluster
