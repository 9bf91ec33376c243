// The lease of a node: every change of state at the holder and at the taker, by durations only.
#include "supervisor/cluster/placement/lease.h"

#include "tests/catch.h"

using namespace std::chrono_literals;
using cluster::LeaseState;
using cluster::LeaseWatch;
using cluster::NodeLease;
using LeaseTime = cluster::BootClock::time_point;

namespace {

const LeaseTime kStart{100h};

// A lease whose last confirmed renewal was sent at kStart.
NodeLease lease_from_start() {
  NodeLease lease;
  REQUIRE(lease.confirm(lease.begin_renewal(kStart), kStart + 1ms));
  return lease;
}

// Looks each 100 ms from kStart + `begin` to kStart + `end`, as the caller's loop would.
LeaseTime observe(LeaseWatch& watch, LeaseTime from, LeaseTime to) {
  for (; from < to; from += 100ms) watch.observed(from);
  watch.observed(to);
  return to;
}

}  // namespace

TEST_CASE("before its first confirmed renewal a start of the daemon holds nothing", "[cluster]") {
  NodeLease lease;
  CHECK(lease.state(kStart) == LeaseState::ended);
  CHECK(lease.renewal_due(kStart));
  CHECK(lease.next_check(kStart) == kStart);
  const uint64_t number = lease.begin_renewal(kStart);
  CHECK(lease.state(kStart) == LeaseState::ended);
  CHECK(lease.confirm(number, kStart + 1ms));
  CHECK(lease.state(kStart + 1ms) == LeaseState::in_force);
  CHECK(lease.period() == 1);
  CHECK(lease.gained_after_end());
}

TEST_CASE("without another renewal the lease is held, fenced at 20 s and ended at 30 s", "[cluster]") {
  const NodeLease lease = lease_from_start();
  CHECK(lease.state(kStart + 20s - 1ns) == LeaseState::in_force);
  CHECK(lease.state(kStart + 20s) == LeaseState::fenced);
  CHECK(lease.state(kStart + 30s - 1ns) == LeaseState::fenced);
  CHECK(lease.state(kStart + 30s) == LeaseState::ended);
  CHECK(lease.state(kStart + 1000h) == LeaseState::ended);
}

TEST_CASE("a renewal is due 10 s after a confirmed one, and each half second while one is not confirmed", "[cluster]") {
  NodeLease lease = lease_from_start();
  CHECK_FALSE(lease.renewal_due(kStart + 10s - 1ns));
  CHECK(lease.renewal_due(kStart + 10s));
  lease.begin_renewal(kStart + 10s);
  CHECK_FALSE(lease.renewal_due(kStart + 10'499ms));
  CHECK(lease.renewal_due(kStart + 10'500ms));
  const uint64_t second = lease.begin_renewal(kStart + 10'500ms);
  CHECK_FALSE(lease.confirm(second, kStart + 10'501ms));  // it was held all the time
  CHECK_FALSE(lease.renewal_due(kStart + 20'499ms));
  CHECK(lease.renewal_due(kStart + 20'500ms));
  CHECK(lease.period() == 1);
}

TEST_CASE("a late confirmation counts from when its renewal was sent", "[cluster]") {
  NodeLease lease = lease_from_start();
  const uint64_t late = lease.begin_renewal(kStart + 10s);
  SECTION("while still held: the lease goes on from the sending") {
    CHECK_FALSE(lease.confirm(late, kStart + 19s));
    CHECK(lease.state(kStart + 29'999ms) == LeaseState::in_force);
    CHECK(lease.state(kStart + 30s) == LeaseState::fenced);
  }
  SECTION("fenced meanwhile: held again, but only until 20 s after the sending") {
    CHECK(lease.confirm(late, kStart + 25s));
    CHECK(lease.state(kStart + 25s) == LeaseState::in_force);
    CHECK_FALSE(lease.gained_after_end());
    CHECK(lease.state(kStart + 30s) == LeaseState::fenced);
    CHECK(lease.state(kStart + 40s) == LeaseState::ended);
  }
  SECTION("ended meanwhile, and older than 20 s: it stays fenced") {
    CHECK(lease.state(kStart + 35s) == LeaseState::ended);
    CHECK_FALSE(lease.confirm(late, kStart + 35s));
    CHECK(lease.state(kStart + 35s) == LeaseState::fenced);
    CHECK(lease.period() == 1);
  }
  SECTION("older than 30 s: it changes nothing") {
    CHECK_FALSE(lease.confirm(late, kStart + 41s));
    CHECK(lease.state(kStart + 41s) == LeaseState::ended);
  }
}

TEST_CASE("confirmations that are old, repeated or of no renewal change nothing", "[cluster]") {
  NodeLease lease = lease_from_start();
  const uint64_t first = lease.begin_renewal(kStart + 10s);
  const uint64_t second = lease.begin_renewal(kStart + 11s);
  CHECK_FALSE(lease.confirm(second, kStart + 12s));
  CHECK_FALSE(lease.confirm(first, kStart + 13s));   // the older one, in the wrong order
  CHECK_FALSE(lease.confirm(second, kStart + 14s));  // again
  CHECK_FALSE(lease.confirm(second + 1, kStart + 14s));
  CHECK_FALSE(lease.confirm(0, kStart + 14s));
  CHECK(lease.state(kStart + 30'999ms) == LeaseState::in_force);
  CHECK(lease.state(kStart + 31s) == LeaseState::fenced);
}

TEST_CASE("after a fence a confirmed renewal begins a new period", "[cluster]") {
  NodeLease lease = lease_from_start();
  CHECK(lease.state(kStart + 22s) == LeaseState::fenced);
  CHECK(lease.confirm(lease.begin_renewal(kStart + 22s), kStart + 22'001ms));
  CHECK(lease.state(kStart + 22'001ms) == LeaseState::in_force);
  CHECK(lease.period() == 2);
  CHECK_FALSE(lease.gained_after_end());
  CHECK(lease.confirm(lease.begin_renewal(kStart + 60s), kStart + 60'001ms));
  CHECK(lease.period() == 3);
  CHECK(lease.gained_after_end());
}

TEST_CASE("a process that was suspended finds its lease ended when it wakes", "[cluster]") {
  NodeLease lease = lease_from_start();
  const uint64_t on_the_way = lease.begin_renewal(kStart + 10s);
  const LeaseTime awake = kStart + 10min;  // nothing was called in between
  CHECK(lease.state(awake) == LeaseState::ended);
  CHECK_FALSE(lease.confirm(on_the_way, awake));  // its answer waited in the socket
  CHECK(lease.state(awake) == LeaseState::ended);
  CHECK(lease.renewal_due(awake));
  CHECK(lease.next_check(awake) == awake);
  CHECK(lease.confirm(lease.begin_renewal(awake), awake + 1ms));
  CHECK(lease.gained_after_end());
  CHECK(lease.period() == 2);
}

TEST_CASE("a lease whose record belongs to another start is lost for good", "[cluster]") {
  NodeLease lease = lease_from_start();
  const uint64_t number = lease.begin_renewal(kStart + 10s);
  lease.lose();
  CHECK(lease.lost());
  CHECK(lease.state(kStart + 10s) == LeaseState::ended);
  CHECK_FALSE(lease.renewal_due(kStart + 11s));
  CHECK_FALSE(lease.confirm(number, kStart + 11s));
  CHECK(lease.state(kStart + 11s) == LeaseState::ended);
  CHECK(lease.next_check(kStart + 11s) > kStart + 11s);
}

TEST_CASE("the next look is when something may change", "[cluster]") {
  NodeLease lease = lease_from_start();
  CHECK(lease.next_check(kStart + 1s) == kStart + 10s);
  lease.begin_renewal(kStart + 10s);
  CHECK(lease.next_check(kStart + 10s) == kStart + 10'500ms);
  lease.begin_renewal(kStart + 19'800ms);
  CHECK(lease.next_check(kStart + 19'800ms) == kStart + 20s);  // the fence comes before the retry
  lease.begin_renewal(kStart + 29'900ms);
  CHECK(lease.next_check(kStart + 29'900ms) == kStart + 30s);
  CHECK(lease.next_check(kStart + 30s) == kStart + 30'400ms);
}

TEST_CASE("an election of 9 s fences no node, at whatever moment it begins", "[cluster]") {
  for (auto begin = 0ms; begin < 20s; begin += 7ms) {
    const LeaseTime from = kStart + begin, to = from + 9s;
    NodeLease lease = lease_from_start();
    for (LeaseTime now = kStart; now < kStart + 40s; now = std::max(lease.next_check(now), now + 1ms)) {
      CAPTURE(begin.count(), (now - kStart).count());
      REQUIRE(lease.state(now) == LeaseState::in_force);
      if (!lease.renewal_due(now)) continue;
      const uint64_t number = lease.begin_renewal(now);
      if (now < from || now >= to) lease.confirm(number, now + 1ms);
    }
  }
}

TEST_CASE("thousands of renewals without an answer need no more memory, and the last one still counts", "[cluster]") {
  NodeLease lease = lease_from_start();
  LeaseTime now = kStart + 10s;
  uint64_t number = 0;
  for (int i = 0; i < 5'000; ++i) number = lease.begin_renewal(now += 500ms);
  CHECK_FALSE(lease.confirm(number - 128, now));  // forgotten: 64 s old
  CHECK(lease.confirm(number, now));
  CHECK(lease.state(now) == LeaseState::in_force);
}

TEST_CASE("a taker waits 35 s after the last renewal that it saw", "[cluster]") {
  LeaseWatch watch(kStart);
  watch.saw(7, kStart + 1s);
  observe(watch, kStart + 1s, kStart + 36s - 1ns);
  CHECK_FALSE(watch.may_take(kStart + 36s - 1ns));
  CHECK(watch.remaining_time(kStart + 36s - 1ns) == 1ns);
  CHECK(watch.may_take(kStart + 36s));
  CHECK(watch.remaining_time(kStart + 36s) == 0ns);
  watch.saw(8, kStart + 36s);  // the read before the take: it was renewed
  CHECK_FALSE(watch.may_take(kStart + 36s));
  CHECK(watch.remaining_time(kStart + 36s) == 35s);
}

TEST_CASE("the same renewal seen twice does not count again", "[cluster]") {
  LeaseWatch watch(kStart);
  CHECK_FALSE(watch.saw(7, kStart));  // how old it is, is not known
  for (auto at = 1s; at < 35s; ++at) CHECK_FALSE(watch.saw(7, kStart + at));
  CHECK(watch.may_take(kStart + 35s));
}

TEST_CASE("a renewal in a bucket that the server lost and made again has a lower revision, and counts", "[cluster]") {
  LeaseWatch watch(kStart);
  watch.saw(700, kStart);
  observe(watch, kStart, kStart + 30s);
  CHECK(watch.saw(0, kStart + 30s));  // the bucket is empty
  CHECK(watch.saw(1, kStart + 31s));
  CHECK(watch.remaining_time(kStart + 31s) == 35s);
}

TEST_CASE("a node without a lease may be replaced 35 s after the watch began", "[cluster]") {
  LeaseWatch watch(kStart);
  observe(watch, kStart, kStart + 34s);
  CHECK_FALSE(watch.may_take(kStart + 34s));
  CHECK(watch.may_take(kStart + 35s));
}

TEST_CASE("time in which the taker could not see renewals does not count", "[cluster]") {
  LeaseWatch watch(kStart);
  observe(watch, kStart, kStart + 20s);
  const LeaseTime awake = kStart + 60s;  // suspended, or without a connection
  CHECK_FALSE(watch.may_take(awake));    // asked before any other call
  CHECK(watch.remaining_time(awake) == 35s);
  observe(watch, awake, awake + 34s);
  CHECK_FALSE(watch.may_take(awake + 34s));
  CHECK(watch.may_take(awake + 35s));
}

TEST_CASE("a holder has ended before any taker may begin, for every delay of the last renewal", "[cluster]") {
  for (auto delay = 0ms; delay < 30s; delay += 250ms) {  // from the sending until the taker sees it
    NodeLease lease = lease_from_start();
    LeaseWatch watch(kStart);
    watch.saw(1, observe(watch, kStart, kStart + delay));
    for (auto at = delay; at < 70s; at += 250ms) {
      watch.observed(kStart + at);
      CAPTURE(delay.count(), at.count());
      if (watch.may_take(kStart + at)) REQUIRE(lease.state(kStart + at) == LeaseState::ended);
      if (watch.may_take(kStart + at)) REQUIRE(lease.state(kStart + at - 5s) == LeaseState::ended);
    }
    CHECK(watch.may_take(kStart + 70s));
  }
}
