// cluster_simulation: a cluster of 1,000 nodes with the product's own rules of placement and leases. Prints one table.
// Exit 0: no rule was broken. Times are printed and not judged.
//   cluster_simulation [--nodes N] [--seed N] [--smoke] [--places]
#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "supervisor/base/clock.h"
#include "tests/simulation/inputs.h"
#include "tests/simulation/lease_model.h"
#include "tests/simulation/load_model.h"

using namespace simulation;

namespace {

struct Options {
  size_t nodes = 1'000;
  uint64_t seed = 20261127;
  bool smoke = false;   // few nodes, short: the rules only
  bool places = false;  // only the time of one placement
};

std::vector<LoadScenario> load_scenarios() {
  return {
      {.name = "all at their homes, 80 %", .lighter_homes = true},
      {.name = "  95 %", .load = 0.95, .lighter_homes = true},
      {.name = "  80 %, homes by hash alone"},
      {.name = "  80 %, homes exactly equal", .equal_homes = true},
      {.name = "  80 %, clients at one node", .lighter_homes = true, .near_clients = true},
      {.name = "  95 %, the same", .load = 0.95, .lighter_homes = true, .near_clients = true},
      {.name = "  80 %, 10 large tenants a node", .tenants_per_node = 10, .lighter_homes = true},
      {.name = "half anywhere, 80 %", .anywhere = 0.5, .lighter_homes = true},
      {.name = "  95 %", .load = 0.95, .anywhere = 0.5, .lighter_homes = true},
      {.name = "all anywhere, 80 %", .anywhere = 1},
      {.name = "  80 %, times exponential", .anywhere = 1, .exponential_service = true},
      {.name = "  95 %", .load = 0.95, .anywhere = 1, .warm_up_seconds = 0.5},
      {.name = "  95 %, a report each 10 ms", .load = 0.95, .anywhere = 1, .report_every_us = 10'000},
      {.name = "  95 %, no reports (election)", .load = 0.95, .anywhere = 1, .seconds = 1, .no_reports = true},
      {.name = "hot tenants, all at home",
       .hot_load = 0.5,
       .seconds = 0.5,
       .tenants_per_node = 10,
       .lighter_homes = true},
      {.name = "  9 of 10 runs anywhere",
       .anywhere = 0.9,
       .hot_load = 0.5,
       .tenants_per_node = 10,
       .lighter_homes = true},
      {.name = "5 % of nodes lost, anywhere", .anywhere = 1, .seconds = 4, .lost_nodes = 0.05},
      {.name = "a rack (4 %) lost, half",
       .anywhere = 0.5,
       .lighter_homes = true,
       .lost_nodes = 0.04,
       .lost_as_rack = true},
      {.name = "10 % of nodes drained, half",
       .anywhere = 0.5,
       .seconds = 1.2,
       .lighter_homes = true,
       .drained_nodes = 0.1},
      {.name = "two wire versions, anywhere", .anywhere = 1, .mixed_versions = true},
  };
}

std::vector<LeaseScenario> lease_scenarios() {
  return {
      {.name = "election of 9 s", .election_s = 9, .homes_per_node = 0},
      {.name = "restart, 32 records each",
       .election_s = 1,
       .is_restart = true,
       .replayed_records = 32,
       .homes_per_node = 0},
      {.name = "restart, 2,000 records each",
       .election_s = 1,
       .is_restart = true,
       .replayed_records = 2'000,
       .homes_per_node = 0},
      {.name = "rack (4 %) dead", .cut_nodes = 0.04, .cut_s = 1e6},
      {.name = "rack (4 %) cut off for 60 s", .cut_nodes = 0.04, .cut_s = 60},
  };
}

uint64_t report_broken(uint64_t count, const char* rule) {
  if (count > 0) fmt::print("    BROKEN: {} {}\n", count, rule);
  return count;
}

uint64_t print_load(const Options& options) {
  fmt::print("{:32}{:>10}{:>10}{:>10}{:>10}{:>10}{:>9}{:>9}{:>8}{:>8}\n", "runs", "wait p50", "wait p99", "p99 quiet",
             "queue p99", "tried on", "refused", "lost", "busiest", "fair");
  fmt::print("{:32}{:>10}{:>10}{:>10}{:>10}{:>10}{:>9}{:>9}{:>8}{:>8}\n", "", "ms", "ms", "ms", "ms", "%", "%", "%",
             "x mean", "Jain");
  uint64_t broken = 0;
  for (LoadScenario scenario : load_scenarios()) {
    if (options.smoke) scenario.seconds = 0.08;
    if (options.smoke) scenario.warm_up_seconds = 0.02;
    const LoadFigures figures = run_load(scenario, options.nodes, options.seed);
    const auto percent = [&](uint64_t count) {
      return 100 * static_cast<double>(count) / static_cast<double>(std::max<uint64_t>(1, figures.requested));
    };
    fmt::print("{:32}{:>10.2f}{:>10.2f}{:>10.2f}{:>10.2f}{:>10.2f}{:>9.3f}{:>9.3f}{:>8.2f}{:>8.3f}\n", scenario.name,
               figures.wait.at(0.5) / 1e3, figures.wait.at(0.99) / 1e3, figures.wait_quiet.at(0.99) / 1e3,
               figures.queue.at(0.99) / 1e3, percent(figures.other_node), percent(figures.refused),
               percent(figures.lost), figures.busiest_to_mean, figures.fairness);
    if (figures.unanswered > 0 && scenario.anywhere == 1)
      fmt::print("    {:.2f} % went to a lost node first, and to another one after 2 s\n", percent(figures.unanswered));
    if (figures.moved_homes > 0)
      fmt::print("    {} homes moved, one after the other on each node\n", figures.moved_homes);
    if (scenario.hot_load > 0 && figures.first_refusal_us >= 0)
      fmt::print("    first refusal {:.0f} ms after the start\n",
                 (figures.first_refusal_us / 1e6 + scenario.warm_up_seconds) * 1e3);
    broken += report_broken(figures.on_drained, "runs and homes were placed on drained nodes");
    broken += report_broken(figures.on_foreign_version, "runs were placed on nodes without a common version");
    broken += report_broken(figures.asked_twice, "runs asked the same node twice");
    // Only where a small time is not a matter of chance, and no tenant makes more work than its home can do.
    const bool is_even = scenario.anywhere == 1 && scenario.lost_nodes == 0 && !scenario.exponential_service;
    broken += report_broken(is_even && figures.fairness < 0.9 ? 1 : 0, "scenario with a fairness below 0.9");
    std::fflush(stdout);
  }
  fmt::print(
      "wait: from the request to the start of its program, the hop to its node included; quiet: of the tenants that "
      "are\n"
      "not hot; queue: the part at that node. tried on: another node was asked after a refusal. busiest: node, by "
      "runs.\n"
      "fair: Jain's index of the tenants' mean times (1: all equal, 1/tenants: one has all of the delay).\n");
  return broken;
}

uint64_t print_leases(const Options& options) {
  constexpr const char* kRow = "{:32}{:>8}{:>8}{:>14}{:>10}{:>12}{:>9}{:>14}{:>13}{:>8}\n";
  fmt::print("\n");
  fmt::print(kRow, "leases", "fenced", "ended", "oldest lease", "settled", "sent again", "taken", "first taken",
             "last taken", "lost");
  fmt::print(kRow, "", "nodes", "nodes", "s", "s", "MB", "homes", "s", "s", "homes");
  uint64_t broken = 0;
  for (const LeaseScenario& scenario : lease_scenarios()) {
    const LeaseFigures figures = run_leases(scenario, options.nodes, options.seed);
    const bool must_take = scenario.cut_nodes > 0;
    // A figure that says nothing in this scenario is a dash.
    const auto cell = [](bool counts, double figure, int digits) {
      return counts ? fmt::format("{:.{}f}", figure, digits) : std::string("-");
    };
    fmt::print(kRow, scenario.name, figures.fenced, figures.ended, cell(true, figures.oldest_s, 2),
               cell(!must_take, figures.settled_s, 2), cell(scenario.is_restart, figures.records_bytes / 1e6, 0),
               cell(must_take, static_cast<double>(figures.claimed), 0), cell(must_take, figures.first_taken_s, 1),
               cell(must_take, figures.last_taken_s, 1), cell(must_take, static_cast<double>(figures.lost_homes), 0));
    broken += report_broken(figures.fenced, "nodes that NATS still served were fenced");
    broken += report_broken(figures.held_by_two, "homes were taken while the old node might still have used them");
    broken += report_broken(figures.taken_wrongly, "homes were taken from a node that renewed its lease");
    broken += report_broken(figures.usable_again, "homes were used by the old node after they were taken");
    const auto expected =
        static_cast<uint64_t>(scenario.cut_nodes * static_cast<double>(options.nodes)) * scenario.homes_per_node;
    broken += report_broken(must_take ? expected - figures.claimed : 0, "homes of lost nodes were not taken");
  }
  return broken;
}

// The time of one placement, by the number of nodes in the table.
void print_places(uint64_t seed) {
  fmt::print("{:>10}{:>20}{:>22}\n", "nodes", "lighter_home us", "RunPlacement us");
  RandomSource source(seed);
  const cluster::RandomBits bits = [&] { return source.bits(); };
  const auto now = cluster::BootClock::time_point(std::chrono::hours(1));
  for (uint32_t count : {10U, 1'000U, 100'000U}) {
    cluster::NodeTable table;
    for (uint32_t i = 0; i < count; ++i) {
      cluster::NodeReport report;
      report.name = "n" + std::to_string(i);
      report.labels = {{"zone", i % 2 == 0 ? "a" : "b"}};
      report.slots = kSlots;
      report.used = source.below(kSlots);
      report.received = now;
      (void)table.report(std::move(report));
    }
    const cluster::PlacementNeeds needs{{{"zone", "a"}}, {}};
    const auto us_each = [&](uint32_t rounds, const auto& work) {
      const auto start = Monotonic::now();
      size_t length = 0;  // so that the work has a result
      for (uint32_t i = 0; i < rounds; ++i) length += work(i).value().size();
      return length == 0 ? 0 : ms_since(start) * 1e3 / rounds;
    };
    const double home_us = us_each(std::max(20U, 2'000'000 / count), [&](uint32_t i) {
      return cluster::lighter_home(table, {}, {"t" + std::to_string(i)}, needs, now);
    });
    const double run_us =
        us_each(200'000, [&](uint32_t) { return cluster::RunPlacement(table, {needs}, bits).next(now); });
    fmt::print("{:>10}{:>20.2f}{:>22.2f}\n", count, home_us, run_us);
  }
}

std::optional<uint64_t> number_in(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<Options> parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const bool has_value = argument == "--nodes" || argument == "--seed";
    const auto value = has_value && i + 1 < argc ? number_in(argv[++i]) : std::nullopt;
    if (has_value && !value) return std::nullopt;
    if (argument == "--nodes")
      options.nodes = value.value_or(0);
    else if (argument == "--seed")
      options.seed = value.value_or(0);
    else if (argument == "--smoke")
      options.smoke = true;
    else if (argument == "--places")
      options.places = true;
    else
      return std::nullopt;
  }
  if (options.nodes < 25 || options.nodes > 10'000) return std::nullopt;
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = parse(argc, argv);
  if (!options) {
    fmt::print(stderr, "usage: cluster_simulation [--nodes 25..10000] [--seed NUMBER] [--smoke] [--places]\n");
    return 2;
  }
  if (options->places) {
    print_places(options->seed);
    return 0;
  }
  fmt::print(
      "{} nodes of {} slots, seed {}; a run takes {:.1f} ms, a hop {:.2f} ms, a write to the store {:.2f} ms\n\n",
      options->nodes, kSlots, options->seed, kServiceUs / 1e3, kHopUs / 1e3, kStoreUs / 1e3);
  const auto start = Monotonic::now();
  const uint64_t broken = print_load(*options) + print_leases(*options);
  fmt::print(
      "oldest lease: 20 s would be fenced. settled: after the fault, each node had a new renewal. lost: homes that the "
      "old\n"
      "node found taken when it was back.\n\n{} rules broken; {:.0f} s\n",
      broken == 0 ? "no" : std::to_string(broken), ms_since(start) / 1e3);
  return broken == 0 ? 0 : 1;
}
