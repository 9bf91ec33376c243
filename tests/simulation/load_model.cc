#include "tests/simulation/load_model.h"

#include <algorithm>
#include <charconv>
#include <numeric>

#include "tests/simulation/inputs.h"

namespace simulation {
namespace {

using cluster::BootClock;

BootClock::time_point clock_at(double us) {
  return BootClock::time_point(std::chrono::hours(1) + std::chrono::nanoseconds(static_cast<int64_t>(us * 1'000)));
}

enum class Step : uint8_t {
  ask,     // a client asks; the next client's time is drawn
  arrive,  // the run is at `node`
  end,     // the run ends at `node`
  next,    // the asker has the refusal, or gave up waiting for an answer
  report,  // `node` reports its load
  fault,   // the scenario's event
  move,    // the home of the tenant `run` moves from a drained node
};

struct LoadEvent {
  uint32_t run = 0;
  uint16_t node = 0;
  Step step = Step::ask;
};

struct Run {
  double asked_us = 0;
  double arrived_us = 0;
  uint32_t tenant = 0;
  uint32_t next = 0;  // in a tenant's line
  uint16_t asker = 0;
  bool is_anywhere = false;
  bool is_waiting = false;  // its program did not start yet
};

constexpr uint32_t kNoRun = ~0U;

// A node: slots, and a queue in which tenants take turns, as in supervisor/executions/admission.h.
struct Node {
  struct Line {
    uint32_t tenant, first, last, count;
  };
  std::deque<Line> lines;
  uint32_t used = 0, waiting = 0;
  uint64_t runs = 0;
  bool is_lost = false, is_drained = false;
  cluster::WireVersions wire;
};

struct TenantSums {
  double response_us = 0;
  uint32_t count = 0;
};

class LoadModel {
 public:
  LoadModel(const LoadScenario& scenario, size_t nodes, uint64_t seed)
      : scenario_(scenario),
        random_(seed),
        nodes_(nodes),
        home_(nodes * scenario.tenants_per_node),
        sums_(home_.size()) {
    bits_ = [this] { return random_.bits(); };
    hot_ = scenario.hot_load > 0 ? std::max<size_t>(1, home_.size() / 100) : 0;
    begin_us_ = scenario.warm_up_seconds * 1e6;
    mean_gap_us_ = kServiceUs / (scenario.load * kSlots * static_cast<double>(nodes));
    for (uint16_t i = 0; i < nodes; ++i) {
      if (scenario.mixed_versions) nodes_[i].wire = {i % 10 < 7 ? 1U : 2U, i % 10 < 3 ? 1U : 2U};
      report(i, 0);
      events_.add(random_.uniform() * report_every_us(), {0, i, Step::report});
    }
    moving_until_us_.assign(home_.size(), 0);
    if (scenario.near_clients)
      for (size_t tenant = 0; tenant < home_.size(); ++tenant)
        client_node_.push_back(static_cast<uint16_t>(random_.below(static_cast<uint32_t>(nodes))));
    for (uint32_t tenant = 0; tenant < home_.size(); ++tenant) give_home(tenant, 0);
  }

  LoadFigures run() {
    events_.add(0, {});
    if (has_fault()) events_.add(begin_us_, {0, 0, Step::fault});
    const double end_us = begin_us_ + scenario_.seconds * 1e6;
    LoadEvent event;
    while (events_.next(end_us, now_us_, event)) handle(event);
    finish();
    return std::move(figures_);
  }

 private:
  bool has_fault() const { return scenario_.lost_nodes > 0 || scenario_.drained_nodes > 0 || scenario_.no_reports; }
  bool is_measured(const Run& run) const { return run.asked_us >= begin_us_; }
  double report_every_us() const { return scenario_.report_every_us > 0 ? scenario_.report_every_us : kReportEveryUs; }
  // A program of the asker's node speaks what its node speaks.
  cluster::PlacementNeeds needs_of(uint16_t asker) const { return {{}, nodes_[asker].wire}; }

  static std::string name_of(uint16_t node) { return "n" + std::to_string(node); }
  static uint16_t node_of(const std::string& name) {
    uint16_t node = 0;
    std::from_chars(name.data() + 1, name.data() + name.size(), node);
    return node;
  }

  cluster::NodeReport report_of(uint16_t i) const {
    const Node& node = nodes_[i];
    cluster::NodeReport report;
    report.slots = kSlots;
    report.used = node.used;
    report.waiting = node.waiting;
    report.wire = node.wire;
    report.drained = node.is_drained;
    return report;
  }

  void report(uint16_t i, double at_us) {
    cluster::NodeReport report = report_of(i);
    report.name = name_of(i);
    report.received = clock_at(at_us);
    (void)table_.report(std::move(report));  // fewer than kMaxNodes
  }

  void give_home(uint32_t tenant, double at_us) {
    const tenants::TenantId id{"t" + std::to_string(tenant)};
    const cluster::PlacementNeeds needs{{}, {1, 2}};
    const std::string here = scenario_.near_clients ? name_of(client_node_[tenant]) : std::string();
    const cluster::HomeCounts no_counts;
    const cluster::HomeCounts& counts = scenario_.lighter_homes ? homes_ : no_counts;
    auto home = cluster::lighter_home(table_, counts, id, needs, clock_at(at_us), here);
    if (scenario_.equal_homes) home = name_of(static_cast<uint16_t>(tenant % nodes_.size()));
    home_[tenant] = node_of(home.value());
    ++homes_[*home];
  }

  void handle(const LoadEvent& event) {
    switch (event.step) {
      case Step::ask:
        return ask();
      case Step::arrive:
        return arrive(event);
      case Step::end:
        return end(event);
      case Step::next:
        return runs_[event.run].is_anywhere ? send_anywhere(event.run) : send_home(event.run);
      case Step::report:
        if (!nodes_[event.node].is_lost && !(scenario_.no_reports && now_us_ >= begin_us_)) {
          if (random_.uniform() >= kReportsLost) report(event.node, now_us_);
          events_.add(now_us_ + report_every_us(), event);
        }
        return;
      case Step::fault:
        return fault();
      case Step::move:
        return move_home(event.run);
    }
  }

  uint32_t random_tenant() {
    const auto quiet = static_cast<uint32_t>(home_.size() - hot_);
    if (hot_ > 0 && random_.uniform() < scenario_.hot_load) return quiet + random_.below(static_cast<uint32_t>(hot_));
    return random_.below(quiet);
  }

  void ask() {
    events_.add(now_us_ + random_.exponential(mean_gap_us_), {});
    auto asker = static_cast<uint16_t>(random_.below(static_cast<uint32_t>(nodes_.size())));
    while (nodes_[asker].is_lost) asker = static_cast<uint16_t>(random_.below(static_cast<uint32_t>(nodes_.size())));
    const uint32_t id = new_run(), tenant = random_tenant();
    if (scenario_.near_clients && !nodes_[client_node_[tenant]].is_lost) asker = client_node_[tenant];
    Run& run = runs_[id];
    run = {now_us_, now_us_, tenant, kNoRun, asker, random_.uniform() < scenario_.anywhere, true};
    figures_.requested += is_measured(run);
    if (!run.is_anywhere) return send_home(id);
    cluster::RunPlacement::Request request;
    request.needs = needs_of(asker);
    request.here = name_of(asker);
    request.here_is_free = nodes_[asker].used < kSlots;
    placements_[id].emplace(table_, std::move(request), bits_);
    send_anywhere(id);
  }

  void send_home(uint32_t id) {
    const Run& run = runs_[id];
    if (moving_until_us_[run.tenant] > now_us_) {  // writes wait until the home has moved
      events_.add(moving_until_us_[run.tenant] + 1, {id, 0, Step::next});
      return;
    }
    const uint16_t home = home_[run.tenant];
    if (nodes_[home].is_lost) return lose(id);
    send(id, home);
  }

  void send_anywhere(uint32_t id) {
    auto& placement = *placements_[id];
    const auto before = placement.tried();
    const auto name = placement.next(clock_at(now_us_));
    if (!name) return refuse(id);
    if (is_measured(runs_[id])) {
      figures_.asked_twice += std::ranges::find(before, *name) != before.end();
      figures_.other_node += before.size() == 1;
    }
    send(id, node_of(*name));
  }

  void send(uint32_t id, uint16_t node) { events_.add(now_us_ + hop_us(id, node), {id, node, Step::arrive}); }
  double hop_us(uint32_t id, uint16_t node) const { return runs_[id].asker == node ? 0 : kHopUs; }

  void arrive(const LoadEvent& event) {
    Node& node = nodes_[event.node];
    Run& run = runs_[event.run];
    run.arrived_us = now_us_;
    if (node.is_lost) {  // no answer comes
      figures_.unanswered += is_measured(run);
      if (!run.is_anywhere) return lose(event.run);
      events_.add(now_us_ + kGiveUpUs, {event.run, 0, Step::next});
      return;
    }
    if (run.is_anywhere && !cluster::takes_run(report_of(event.node))) {
      events_.add(now_us_ + hop_us(event.run, event.node), {event.run, 0, Step::next});
      return;
    }
    if (!run.is_anywhere && home_[run.tenant] != event.node) {  // moved while the order was on its way
      events_.add(now_us_ + hop_us(event.run, event.node), {event.run, 0, Step::next});
      return;
    }
    if (is_measured(run)) {
      figures_.on_drained += node.is_drained && run.is_anywhere;
      figures_.on_foreign_version += run.is_anywhere && !node.wire.overlaps(nodes_[run.asker].wire);
    }
    if (node.used < kSlots) return begin(event.run, event.node);
    queue(event.run, node);
  }

  void queue(uint32_t id, Node& node) {
    const uint32_t tenant = runs_[id].tenant;
    const auto line = std::ranges::find(node.lines, tenant, &Node::Line::tenant);
    if (line == node.lines.end()) {
      node.lines.push_back({tenant, id, id, 1});
    } else {
      if (line->count == kQueuedPerTenant) return refuse(id);
      runs_[line->last].next = id;
      line->last = id;
      ++line->count;
    }
    ++node.waiting;
  }

  void begin(uint32_t id, uint16_t at) {
    Node& node = nodes_[at];
    Run& run = runs_[id];
    ++node.used;
    run.is_waiting = false;
    const double service_us = scenario_.exponential_service
                                  ? random_.exponential(kServiceUs)
                                  : kServiceFixedUs + random_.exponential(kServiceUs - kServiceFixedUs);
    events_.add(now_us_ + service_us, {id, at, Step::end});
    if (!is_measured(run)) return;
    ++node.runs;
    figures_.queue.add(now_us_ - run.arrived_us);
    count_wait(run, service_us);
  }

  void count_wait(const Run& run, double service_us) {
    const double wait_us = now_us_ - run.asked_us;
    figures_.wait.add(wait_us);
    if (run.tenant < home_.size() - hot_) figures_.wait_quiet.add(wait_us);
    sums_[run.tenant].response_us += wait_us + service_us;
    ++sums_[run.tenant].count;
  }

  void end(const LoadEvent& event) {
    Node& node = nodes_[event.node];
    if (node.is_lost) return lose(event.run);
    free_run(event.run);
    --node.used;
    if (node.lines.empty() || node.used >= kSlots) return;
    Node::Line line = node.lines.front();  // this tenant's turn; afterwards it is the last
    node.lines.pop_front();
    const uint32_t id = line.first;
    line.first = runs_[id].next;
    if (--line.count > 0) node.lines.push_back(line);
    --node.waiting;
    begin(id, event.node);
  }

  void refuse(uint32_t id) {
    if (is_measured(runs_[id])) {
      ++figures_.refused;
      if (figures_.first_refusal_us < 0) figures_.first_refusal_us = now_us_ - begin_us_;
    }
    free_run(id);
  }

  void lose(uint32_t id) {
    figures_.lost += is_measured(runs_[id]);
    free_run(id);
  }

  void fault() {
    const auto count = [&](double share) { return static_cast<size_t>(share * static_cast<double>(nodes_.size())); };
    std::vector<uint16_t> order(nodes_.size());
    std::iota(order.begin(), order.end(), uint16_t{0});
    if (!scenario_.lost_as_rack)
      for (size_t i = order.size() - 1; i > 0; --i)
        std::swap(order[i], order[random_.below(static_cast<uint32_t>(i + 1))]);
    for (size_t i = 0; i < count(scenario_.lost_nodes); ++i) {
      Node& node = nodes_[order[i]];
      node.is_lost = true;
      for (const Node::Line& line : node.lines)
        for (uint32_t id = line.first, remainder = line.count; remainder > 0; --remainder) {
          const uint32_t next = runs_[id].next;
          lose(id);
          id = next;
        }
      node.lines.clear();
    }
    for (size_t i = 0; i < count(scenario_.drained_nodes); ++i) drain(order[i]);
    if (scenario_.no_reports)  // shortly before the nodes doubt each other, since this is the interesting time
      for (uint16_t i = 0; i < nodes_.size(); ++i) report(i, now_us_ - (2.5 + random_.uniform()) * 1e6);
  }

  // The node's homes move one after the other.
  void drain(uint16_t i) {
    nodes_[i].is_drained = true;
    report(i, now_us_);  // this record is written, and not lost
    double at_us = now_us_;
    for (uint32_t tenant = 0; tenant < home_.size(); ++tenant)
      if (home_[tenant] == i) events_.add(at_us += kMoveUs, {tenant, i, Step::move});
  }

  void move_home(uint32_t tenant) {
    --homes_[name_of(home_[tenant])];
    give_home(tenant, now_us_);
    moving_until_us_[tenant] = now_us_ + kMoveUs;
    ++figures_.moved_homes;
    figures_.on_drained += nodes_[home_[tenant]].is_drained;
  }

  uint32_t new_run() {
    if (free_.empty()) {
      runs_.emplace_back();
      placements_.emplace_back();
      return static_cast<uint32_t>(runs_.size() - 1);
    }
    const uint32_t id = free_.back();
    free_.pop_back();
    return id;
  }
  void free_run(uint32_t id) {
    placements_[id].reset();
    runs_[id].is_waiting = false;
    free_.push_back(id);
  }

  // Runs that still wait count with the wait that they had so far.
  void finish() {
    for (const Run& run : runs_)
      if (run.is_waiting && is_measured(run)) count_wait(run, kServiceUs);
    double sum = 0, squares = 0, tenants = 0;
    for (const TenantSums& tenant : sums_) {
      if (tenant.count == 0) continue;
      const double mean = tenant.response_us / tenant.count;
      sum += mean;
      squares += mean * mean;
      ++tenants;
    }
    figures_.fairness = tenants > 0 ? sum * sum / (tenants * squares) : 0;
    uint64_t limit = 0, all = 0;
    for (const Node& node : nodes_) {
      limit = std::max(limit, node.runs);
      all += node.runs;
    }
    if (all > 0)
      figures_.busiest_to_mean =
          static_cast<double>(limit) * static_cast<double>(nodes_.size()) / static_cast<double>(all);
  }

  const LoadScenario& scenario_;
  RandomSource random_;
  cluster::RandomBits bits_;
  cluster::NodeTable table_;
  std::vector<Node> nodes_;
  cluster::HomeCounts homes_;
  std::vector<uint16_t> home_;         // of each tenant; the hot tenants are the last
  std::vector<uint16_t> client_node_;  // the same, of its clients; empty: any
  std::vector<double> moving_until_us_;
  std::vector<TenantSums> sums_;
  EventWheel<LoadEvent> events_;
  std::vector<Run> runs_;
  std::deque<std::optional<cluster::RunPlacement>> placements_;  // of runs that may go anywhere
  std::vector<uint32_t> free_;
  LoadFigures figures_;
  size_t hot_ = 0;
  double begin_us_ = 0, mean_gap_us_ = 0, now_us_ = 0;
};

}  // namespace

LoadFigures run_load(const LoadScenario& scenario, size_t nodes, uint64_t seed) {
  return LoadModel(scenario, nodes, seed).run();
}

}  // namespace simulation
