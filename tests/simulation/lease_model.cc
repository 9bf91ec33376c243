#include "tests/simulation/lease_model.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "supervisor/cluster/placement/homes.h"
#include "tests/simulation/event_wheel.h"
#include "tests/simulation/inputs.h"
#include "tests/simulation/random.h"

namespace simulation {
namespace {

using cluster::BootClock;
using cluster::HomeState;
using cluster::LeaseState;

constexpr double kBeginUs = 30e6;  // every node has its lease by then; the fault begins
constexpr double kWatchEveryUs = 1e6;

enum class LeaseStep : uint8_t {
  inspect,   // the node's loop
  stored,    // the store has the renewal `number` of `node`
  answered,  // and the node knows
  watch,     // two other nodes look at the lease of `node`
  take,      // the taker `number` writes the home `home` of `node`
  read,      // `node` has read the record of its home `home` in the period `number`
};

struct LeaseEvent {
  uint64_t number = 0;
  uint32_t home = 0;
  uint16_t node = 0;
  LeaseStep step = LeaseStep::inspect;
};

struct Member {
  explicit Member(std::string own_name) : name(std::move(own_name)), homes(lease, name) {}

  std::string name;
  // Each machine's clock began at another time.
  BootClock::duration clock_offset{0};
  cluster::NodeLease lease;
  cluster::HeldHomes homes;
  std::vector<cluster::HomeRecord> records;  // of its homes, in the store
  std::vector<uint64_t> revisions;           // of these records
  std::vector<cluster::LeaseWatch> watches;  // of two other nodes
  uint64_t lease_revision = 0;
  uint64_t period = 0;
  double connected_us = 0, confirmed_us = 0;
  bool is_cut = false, was_fenced = false, had_ended = false, is_settled = false, takes_begun[2] = {false, false};
};

class LeaseModel {
 public:
  LeaseModel(const LeaseScenario& scenario, size_t nodes, uint64_t seed) : scenario_(scenario), random_(seed) {
    for (uint16_t i = 0; i < nodes; ++i) {
      Member& member = *members_.emplace_back(std::make_unique<Member>("n" + std::to_string(i)));
      member.clock_offset = std::chrono::milliseconds(random_.below(1'000'000'000));
      member.is_cut = i < scenario.cut_nodes * static_cast<double>(nodes);
      events_.add(random_.uniform() * 10e6, {0, 0, i, LeaseStep::inspect});
      if (i % 10 == 0 || member.is_cut) events_.add(kBeginUs / 2, {0, 0, i, LeaseStep::watch});
    }
    up_again_us_ = kBeginUs + (scenario.election_s > 0 ? scenario.election_s * 1e6 : 0);
    if (scenario.is_restart)
      for (auto& member : members_) reconnect(*member);
    if (scenario.cut_nodes > 0) {
      up_again_us_ = kBeginUs;
      for (auto& member : members_)
        if (member->is_cut) member->connected_us = kBeginUs + scenario.cut_s * 1e6;
    }
  }

  LeaseFigures run() {
    const double end_us = kBeginUs + scenario_.seconds * 1e6;
    LeaseEvent event;
    while (events_.next(end_us, now_us_, event)) handle(event);
    for (const auto& member : members_) {
      if (member->is_cut) continue;
      figures_.fenced += member->was_fenced;
      figures_.ended += member->had_ended;
    }
    return figures_;
  }

 private:
  static tenants::TenantId workspace(uint32_t home) { return {"t" + std::to_string(home)}; }
  BootClock::time_point clock_of(const Member& member) const {
    return BootClock::time_point(member.clock_offset + std::chrono::nanoseconds(static_cast<int64_t>(now_us_ * 1e3)));
  }
  // The watching nodes have clocks of their own, too; one for all is enough here.
  BootClock::time_point watch_clock() const {
    return BootClock::time_point(std::chrono::nanoseconds(static_cast<int64_t>(now_us_ * 1e3)));
  }
  bool is_connected(const Member& member) const { return now_us_ < kBeginUs || now_us_ >= member.connected_us; }
  bool is_store_up() const { return now_us_ < kBeginUs || now_us_ >= up_again_us_; }

  void reconnect(Member& member) {
    member.connected_us = up_again_us_ + random_.uniform() * 2e6;
    figures_.records_bytes += static_cast<double>(scenario_.replayed_records) * kRecordBytes;
    replay_us_ += static_cast<double>(scenario_.replayed_records) * kReplayedRecordUs;
  }

  // When the store has done a request of now: one after the other, behind the records that it sends again. Negative:
  // no answer comes.
  double store_time() {
    if (!is_store_up()) return -1;
    if (now_us_ >= kBeginUs && replay_us_ > 0) {
      store_free_us_ = std::max(store_free_us_, now_us_) + replay_us_;
      replay_us_ = 0;
    }
    return store_free_us_ = std::max(store_free_us_, now_us_) + kStoreUs;
  }

  void handle(const LeaseEvent& event) {
    Member& member = *members_[event.node];
    switch (event.step) {
      case LeaseStep::inspect:
        return inspect(member, event);
      case LeaseStep::stored:
        ++member.lease_revision;
        for (auto& watch : member.watches) watch.saw(member.lease_revision, watch_clock());
        events_.add(now_us_, {event.number, 0, event.node, LeaseStep::answered});
        return;
      case LeaseStep::answered:
        return answered(member, event);
      case LeaseStep::watch:
        return watch(member, event);
      case LeaseStep::take:
        return take(member, event);
      case LeaseStep::read:
        return read(member, event);
    }
  }

  void inspect(Member& member, const LeaseEvent& event) {
    const auto now = clock_of(member);
    note_state(member);
    if (member.lease.renewal_due(now)) {
      const uint64_t number = member.lease.begin_renewal(now);
      const double done_us = is_connected(member) ? store_time() : -1;
      if (done_us >= 0) events_.add(done_us, {number, 0, event.node, LeaseStep::stored});
    }
    const auto pause = std::chrono::duration<double, std::micro>(member.lease.next_check(now) - now);
    events_.add(now_us_ + std::max(1.0, pause.count()), {0, 0, event.node, LeaseStep::inspect});
  }

  void note_state(Member& member) {
    const LeaseState state = member.lease.state(clock_of(member));
    if (now_us_ < kBeginUs) return;
    member.was_fenced |= state != LeaseState::in_force;
    member.had_ended |= state == LeaseState::ended;
    if (!member.is_cut) figures_.oldest_s = std::max(figures_.oldest_s, (now_us_ - member.confirmed_us) / 1e6);
  }

  void answered(Member& member, const LeaseEvent& event) {
    if (!is_connected(member)) return;
    note_state(member);
    const bool is_gained = member.lease.confirm(event.number, clock_of(member));
    member.confirmed_us = now_us_;
    if (now_us_ >= std::max(up_again_us_, member.connected_us) && now_us_ >= kBeginUs && !member.is_settled) {
      member.is_settled = true;
      if (!member.is_cut) figures_.settled_s = std::max(figures_.settled_s, (now_us_ - up_again_us_) / 1e6);
    }
    if (!is_gained) return;
    if (member.period++ == 0) return begin_homes(member);
    for (uint32_t home = 0; home < member.records.size(); ++home)
      events_.add(store_time(), {member.lease.period(), home, event.node, LeaseStep::read});
  }

  void begin_homes(Member& member) {
    for (uint32_t home = 0; home < scenario_.homes_per_node; ++home) {
      member.records.push_back({member.name, 1});
      member.revisions.push_back(1);
      member.homes.confirm(workspace(home), member.records.back(), member.lease.period(),
                           cluster::HeldHomes::RecordSource::claimed);
    }
  }

  void watch(Member& member, const LeaseEvent& event) {
    if (member.watches.empty()) member.watches.assign(2, cluster::LeaseWatch(watch_clock()));
    for (size_t i = 0; i < member.watches.size(); ++i) {
      if (is_store_up()) member.watches[i].observed(watch_clock());
      if (!member.watches[i].may_take(watch_clock()) || member.takes_begun[i]) continue;
      member.takes_begun[i] = true;
      for (uint32_t home = 0; home < member.records.size(); ++home)
        events_.add(store_time(), {i, home, event.node, LeaseStep::take});
    }
    events_.add(now_us_ + kWatchEveryUs, event);
  }

  // The takers of a node read its records at the same time, so both expect the revision 1.
  void take(Member& member, const LeaseEvent& event) {
    const std::string taker = event.number == 0 ? "taker-0" : "taker-1";
    const auto record = cluster::adopted({member.name, 1}, taker, member.watches[event.number], watch_clock());
    if (!record) return;  // a renewal was seen meanwhile
    if (member.revisions[event.home] != 1) {
      ++figures_.refused_takes;
      return;
    }
    member.records[event.home] = *record;
    member.revisions[event.home] = 2;
    const double since_s = (now_us_ - kBeginUs) / 1e6;
    if (figures_.claimed++ == 0) figures_.first_taken_s = since_s;
    figures_.last_taken_s = since_s;
    figures_.taken_wrongly += !member.is_cut;
    const HomeState state = member.homes.state(workspace(event.home), clock_of(member));
    figures_.held_by_two += state == HomeState::usable || state == HomeState::fenced;
  }

  void read(Member& member, const LeaseEvent& event) {
    member.homes.confirm(workspace(event.home), member.records[event.home], event.number,
                         cluster::HeldHomes::RecordSource::read);
    const HomeState state = member.homes.state(workspace(event.home), clock_of(member));
    figures_.lost_homes += state == HomeState::lost;
    figures_.usable_again += state == HomeState::usable && member.records[event.home].node != member.name;
  }

  const LeaseScenario& scenario_;
  RandomSource random_;
  std::vector<std::unique_ptr<Member>> members_;
  EventWheel<LeaseEvent> events_;
  LeaseFigures figures_;
  double now_us_ = 0, up_again_us_ = 0, store_free_us_ = 0, replay_us_ = 0;
};

}  // namespace

LeaseFigures run_leases(const LeaseScenario& scenario, size_t nodes, uint64_t seed) {
  return LeaseModel(scenario, nodes, seed).run();
}

}  // namespace simulation
