// The lease of a node: its right to start and to write for its homes. Pure state machines of both sides, without I/O.
//
//   holder (NodeLease)   sends a renewal at 0 s, 10 s, 20 s ...; counts from when the last confirmed one was SENT:
//                        0 ... 20 s held, 20 ... 30 s fenced (no starts, no writes), from 30 s ended (programs that
//                        run for its homes are ended, too)
//   taker (LeaseWatch)   counts from when it SAW the last renewal: from 35 s its homes may be taken, with epoch + 1
//
// Why this is safe: the holder counts from a moment before the renewal reached the record, the taker from one after
// it. So the holder has ended 5 s before a taker may begin, as long as neither clock is more than 7 % wrong. Only
// durations of one clock are used; the clocks of machines are never compared.
// Source: the bucket `leases`, one record for each node. Used by: warder-node and the simulation.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "supervisor/cluster/placement/boot_clock.h"

namespace cluster {

constexpr auto kRenewEvery = std::chrono::seconds(10);
// After a renewal that was not confirmed. An election of NATS takes up to 9 s and may begin just before a renewal: one
// of the next ones must still be confirmed before kFencedAfter. So the request must also give up within this time.
constexpr auto kRetryRenewalEvery = std::chrono::milliseconds(500);
constexpr auto kFencedAfter = std::chrono::seconds(20);
constexpr auto kEndedAfter = std::chrono::seconds(30);
constexpr auto kMayTakeAfter = std::chrono::seconds(35);
// The times of one holder. Only tests use shorter ones: the times of all nodes of a cluster belong together.
struct LeaseTimes {
  BootClock::duration renew_every = kRenewEvery, retry_every = kRetryRenewalEvery;
  BootClock::duration fenced_after = kFencedAfter, ended_after = kEndedAfter;

  static LeaseTimes divided_by(int divisor) {
    return {kRenewEvery / divisor, kRetryRenewalEvery / divisor, kFencedAfter / divisor, kEndedAfter / divisor};
  }
};
// A taker that did not look for this long was not watching: suspended, or cut off.
constexpr auto kWatchGap = std::chrono::seconds(5);

enum class LeaseState {
  in_force,  // it may start and write
  fenced,    // it may neither start nor write; running programs continue, and their answers wait
  ended,     // programs that run for its homes must be ended
};

// The holder's side: one object for each start of the daemon. It begins as ended: before the first confirmed renewal
// it may not act for its homes.
class NodeLease {
 public:
  using Time = BootClock::time_point;

  explicit NodeLease(LeaseTimes times = {}) : times_(times) {}
  const LeaseTimes& times() const { return times_; }

  LeaseState state(Time now) const;
  // Whether a renewal is to be sent now.
  bool renewal_due(Time now) const;
  // Counts the renewal that the caller sends next, and returns its number, which goes into the record.
  uint64_t begin_renewal(Time now);
  // The renewal with this number is in the record. It counts from when it was sent, however late the confirmation is;
  // one older than the last confirmed, or never sent, is ignored. True: the node was fenced or ended
  // and holds its lease again, so each home must be confirmed (HeldHomes).
  bool confirm(uint64_t number, Time now);
  // The record belongs to another start of this node, or to another machine with its name: this start never holds
  // the lease again.
  void lose();
  bool lost() const { return lost_; }

  // The number of times that the lease was gained. A fact about a home that was asked for in an earlier period is out
  // of date: another node may have taken that home in between.
  uint64_t period() const { return period_; }
  // Whether the lease had ended, and was not only fenced, before it was gained the last time.
  bool gained_after_end() const { return gained_after_end_; }
  // When state() or renewal_due() may change without a call: the time of the caller's next look. `now` or later.
  Time next_check(Time now) const;

 private:
  static constexpr size_t kMaxUnconfirmed = 128;  // a minute of retries; older ones could confirm only an ended lease

  struct Renewal {
    uint64_t number;
    Time sent;
  };
  Time renewal_time() const;

  LeaseTimes times_;
  std::deque<Renewal> unconfirmed_;  // oldest first
  std::optional<Time> confirmed_;    // when the last confirmed renewal was sent
  std::optional<Time> sent_;         // when the last renewal was sent
  uint64_t last_number_ = 0;
  uint64_t period_ = 0;
  bool gained_after_end_ = false;
  bool lost_ = false;
};

// The taker's side: one node's lease as another node sees it. The caller reads the record and calls saw(), or calls
// observed() where a watch of the record works, at least every second, and not while its connection is cut: time in
// which a renewal could not have been seen does not count, be it for a cut connection or because this process was
// suspended.
class LeaseWatch {
 public:
  using Time = BootClock::time_point;

  // The watch counts from its beginning, also if the node has no lease at all.
  explicit LeaseWatch(Time now) : quiet_since_(now), observed_(now) {}

  // The record has this revision (of NATS's key-value store; 0: there is no record). True: another one than at the last
  // call, so the node has renewed its lease meanwhile. A lower revision is a renewal, too: a server that has lost the
  // bucket counts from 1 again.
  bool saw(uint64_t revision, Time now);
  void observed(Time now);
  // Whether the homes of that node may be taken. Before the take, the record is read once more, and saw() called: a
  // renewal may be on its way. The compare-and-set of the home's record then decides between several takers.
  bool may_take(Time now) const;
  // How long until may_take(), if no renewal is seen; 0: now.
  BootClock::duration remaining_time(Time now) const;

 private:
  Time quiet_since_;
  Time observed_;
  std::optional<uint64_t> revision_;  // nullopt: not seen yet
};

}  // namespace cluster
