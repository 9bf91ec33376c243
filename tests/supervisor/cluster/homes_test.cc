// The homes that a node holds: by its lease and by the epoch of each, and how another node takes one over.
#include "supervisor/cluster/placement/homes.h"

#include "tests/catch.h"

using namespace std::chrono_literals;
using cluster::HeldHomes;
using cluster::HomeRecord;
using cluster::HomeState;
using cluster::NodeLease;
using tenants::TenantId;
using HomesTime = cluster::BootClock::time_point;

namespace {

const HomesTime kBegin{5h};
const TenantId kReports{"acme", "reports"};

struct Holder {
  NodeLease lease;
  HeldHomes homes{lease, "n1"};

  bool renew(HomesTime now) { return lease.confirm(lease.begin_renewal(now), now); }
  void take(uint64_t epoch) {
    homes.confirm(kReports, {"n1", epoch}, lease.period(), HeldHomes::RecordSource::claimed);
  }
  void read(const HomeRecord& record) {
    homes.confirm(kReports, record, lease.period(), HeldHomes::RecordSource::read);
  }
  HomeState state(HomesTime now) const { return homes.state(kReports, now); }
};

}  // namespace

TEST_CASE("a home is usable while the lease is held, then fenced, then ended", "[cluster]") {
  Holder holder;
  CHECK(holder.state(kBegin) == HomeState::unknown);
  REQUIRE(holder.renew(kBegin));
  holder.take(1);
  CHECK(holder.state(kBegin + 19s) == HomeState::usable);
  CHECK(holder.state(kBegin + 20s) == HomeState::fenced);
  CHECK(holder.state(kBegin + 30s) == HomeState::ended);
  CHECK(holder.homes.state({"acme", "other"}, kBegin) == HomeState::unknown);
}

TEST_CASE("after a fence a home is usable again only when its record has the same epoch", "[cluster]") {
  Holder holder;
  REQUIRE(holder.renew(kBegin));
  holder.take(4);
  REQUIRE(holder.renew(kBegin + 25s));
  CHECK(holder.state(kBegin + 25s) == HomeState::fenced);  // the lease is held, this home not confirmed
  SECTION("the same epoch") {
    holder.read({"n1", 4});
    CHECK(holder.state(kBegin + 25s) == HomeState::usable);
  }
  SECTION("another node has it") {
    holder.read({"n2", 5});
    CHECK(holder.state(kBegin + 25s) == HomeState::lost);
    holder.read({"n1", 4});  // a replica that lags behind
    CHECK(holder.state(kBegin + 25s) == HomeState::lost);
  }
  SECTION("it changed hands and came back: what is here is out of date") {
    holder.read({"n1", 6});
    CHECK(holder.state(kBegin + 25s) == HomeState::lost);
    holder.read({"n1", 6});
    CHECK(holder.state(kBegin + 25s) == HomeState::lost);
  }
  SECTION("taken again by this start, with a higher epoch") {
    holder.read({"n2", 5});
    holder.take(6);
    CHECK(holder.state(kBegin + 25s) == HomeState::usable);
  }
}

TEST_CASE("what runs is ended where the lease had ended, until the home is confirmed", "[cluster]") {
  Holder holder;
  REQUIRE(holder.renew(kBegin));
  holder.take(1);
  SECTION("the lease had ended") { REQUIRE(holder.renew(kBegin + 31s)); }
  SECTION("it was gained twice since the home was confirmed") {
    REQUIRE(holder.renew(kBegin + 21s));
    REQUIRE(holder.renew(kBegin + 42s));
  }
  CHECK(holder.state(kBegin + 43s) == HomeState::ended);
  holder.read({"n1", 1});
  CHECK(holder.state(kBegin + 43s) == HomeState::usable);
}

TEST_CASE("a record that was asked for before the fence confirms nothing after it, but its loss counts", "[cluster]") {
  Holder holder;
  REQUIRE(holder.renew(kBegin));
  holder.take(1);
  const uint64_t before = holder.lease.period();
  REQUIRE(holder.renew(kBegin + 22s));
  holder.homes.confirm(kReports, {"n1", 1}, before, HeldHomes::RecordSource::read);
  CHECK(holder.state(kBegin + 22s) == HomeState::fenced);
  holder.homes.confirm(kReports, {"n2", 2}, before, HeldHomes::RecordSource::read);
  CHECK(holder.state(kBegin + 22s) == HomeState::lost);
}

TEST_CASE("a new start of the daemon has the homes that the record says", "[cluster]") {
  Holder holder;
  REQUIRE(holder.renew(kBegin));
  holder.read({"n1", 9});
  CHECK(holder.state(kBegin) == HomeState::usable);
  holder.homes.confirm({"acme", "other"}, {"n2", 3}, 1, HeldHomes::RecordSource::read);
  CHECK(holder.homes.state({"acme", "other"}, kBegin) == HomeState::unknown);
  holder.homes.forget_if([](const TenantId& id) { return id == kReports; });
  CHECK(holder.state(kBegin) == HomeState::unknown);
}

TEST_CASE("of two takers one takes the home, and the other begins to watch that one", "[cluster]") {
  std::pair<HomeRecord, uint64_t> stored{{"n1", 4}, 70};                 // the record and its revision
  const auto write = [&](const HomeRecord& record, uint64_t expected) {  // compare-and-set
    if (stored.second != expected) return false;
    stored = {record, expected + 1};
    return true;
  };
  cluster::LeaseWatch second(kBegin), third(kBegin + 100ms);
  for (auto at = 0s; at <= 36s; ++at) {
    second.observed(kBegin + at);
    third.observed(kBegin + at);
  }
  CHECK_FALSE(adopted(stored.first, "n2", second, kBegin + 34s));
  const HomesTime now = kBegin + 36s;
  CHECK_FALSE(adopted(stored.first, "n1", second, now));  // the home is its own already
  const auto of_second = adopted(stored.first, "n2", second, now);
  const auto of_third = adopted(stored.first, "n3", third, now);
  REQUIRE(of_second);
  REQUIRE(of_third);
  CHECK(*of_second == HomeRecord{"n2", 5});
  CHECK(*of_third == HomeRecord{"n3", 5});
  CHECK(write(*of_third, 70));
  CHECK_FALSE(write(*of_second, 70));
  cluster::LeaseWatch next(now);  // n2 reads the record, and watches n3 from now on
  CHECK_FALSE(adopted(stored.first, "n2", next, now));
  CHECK(stored.first == HomeRecord{"n3", 5});
}
