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
      {.name = "  80 %, 10 large tenants a node", .tenants_per_node = 10, .lighter_homes = true},
      {.name = "half anywhere, 80 %", .anywhere = 0.5, .lighter_homes = true},
      {.name = "  95 %", .load = 0.95, .anywhere = 0.5, .lighter_homes = true},
      {.name = "all anywhere, 80 %", .anywhere = 1},
      {.name = "  80 %, times exponential", .anywhere = 1, .exponential_service = true},
      {.name = "  95 %", .load = 0.95, .anywhere = 1, .warm_up_seconds = 1},
      {.name = "  95 %, a report each 10 ms", .load = 0.95, .anywhere = 1, .report_every_us = 10'000},
      {.name = "  95 %, no reports (election)", .load = 0.95, .anywhere = 1, .seconds = 1, .no_reports = true},
      {.name = "hot tenants, all at home", .hot_load = 0.5, .tenants_per_node = 10, .lighter_homes = true},
      {.name = "  9 of 10 runs anywhere",
       .anywhere = 0.9,
       .hot_load = 0.5,
       .tenants_per_node = 10,
       .lighter_homes = true},
      {.name = "5 % of nodes lost, anywhere", .anywhere = 1, .seconds = 4, .lost_nodes = 0.05},
      {.name = "a rack of 40 lost, half",
       .anywhere = 0.5,
       .lighter_homes = true,
       .lost_nodes = 0.04,
       .lost_as_rack = true},
      {.name = "10 % of nodes drained, half",
       .anywhere = 0.5,
       .seconds = 2.5,
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
      {.name = "rack of 40 dead", .cut_nodes = 0.04, .cut_s = 1e6},
      {.name = "rack of 40 cut off for 60 s", .cut_nodes = 0.04, .cut_s = 60},
  };
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
      return 100 * static_cast<double>(count) / static_cast<double>(std::max<uint64_t>(1, figures.asked));
    };
    fmt::print("{:32}{:>10.2f}{:>10.2f}{:>10.2f}{:>10.2f}{:>10.2f}{:>9.3f}{:>9.3f}{:>8.2f}{:>8.3f}\n", scenario.name,
               figures.wait.at(0.5) / 1e3, figures.wait.at(0.99) / 1e3, figures.wait_quiet.at(0.99) / 1e3,
               figures.queue.at(0.99) / 1e3, percent(figures.other_node), percent(figures.refused),
               percent(figures.lost), figures.most_to_mean, figures.fairness);
    if (figures.unanswered > 0 && scenario.anywhere == 1)
      fmt::print("    {:.2f} % went to a lost node first, and to another one after 2 s\n", percent(figures.unanswered));
    if (figures.moved_homes > 0)
      fmt::print("    {} homes moved, one after the other on each node\n", figures.moved_homes);
    if (scenario.hot_load > 0 && figures.first_refusal_us >= 0)
      fmt::print("    first refusal {:.0f} ms after the start\n",
                 (figures.first_refusal_us / 1e6 + scenario.warm_up_seconds) * 1e3);
    const uint64_t of_this = figures.on_drained + figures.on_foreign_version + figures.asked_twice;
    if (of_this > 0)
      fmt::print("    BROKEN: {} runs on drained nodes, {} without a common version, {} asked a node twice\n",
                 figures.on_drained, figures.on_foreign_version, figures.asked_twice);
    broken += of_this;
    // Only where no tenant makes more than a node can do: no tenant's time may be far from the others'.
    if (scenario.anywhere == 1 && scenario.lost_nodes == 0 && !scenario.exponential_service && figures.fairness < 0.9) {
      fmt::print("    BROKEN: fairness below 0.9\n");
      ++broken;
    }
    std::fflush(stdout);
  }
  return broken;
}

uint64_t print_leases(const Options& options) {
  fmt::print("\n{:32}{:>8}{:>8}{:>12}{:>12}{:>8}{:>14}{:>14}{:>8}\n", "leases", "fenced", "ended", "oldest lease",
             "settled", "taken", "first taken", "last taken", "lost");
  fmt::print("{:32}{:>8}{:>8}{:>12}{:>12}{:>8}{:>14}{:>14}{:>8}\n", "", "nodes", "nodes", "s", "s", "homes", "s", "s",
             "homes");
  uint64_t broken = 0;
  for (const LeaseScenario& scenario : lease_scenarios()) {
    const LeaseFigures figures = run_leases(scenario, options.nodes, options.seed);
    fmt::print("{:32}{:>8}{:>8}{:>12.2f}{:>12.2f}{:>8}{:>14.1f}{:>14.1f}{:>8}\n", scenario.name, figures.fenced,
               figures.ended, figures.oldest_s, figures.settled_s, figures.taken, figures.first_taken_s,
               figures.last_taken_s, figures.lost_homes);
    if (figures.records_bytes > 0) fmt::print("    {:.0f} MB of records sent again\n", figures.records_bytes / 1e6);
    const uint64_t of_this = figures.fenced + figures.held_by_two + figures.taken_wrongly + figures.usable_again;
    if (of_this > 0)
      fmt::print("    BROKEN: {} nodes fenced, {} homes held by two, {} taken from a node in order, {} used after\n",
                 figures.fenced, figures.held_by_two, figures.taken_wrongly, figures.usable_again);
    const bool must_take = scenario.cut_nodes > 0;
    const auto expected =
        static_cast<uint64_t>(scenario.cut_nodes * static_cast<double>(options.nodes)) * scenario.homes_per_node;
    if (must_take && figures.taken != expected) {
      fmt::print("    BROKEN: {} homes were to be taken\n", expected);
      ++broken;
    }
    broken += of_this;
  }
  return broken;
}

// The time of one placement, by the number of nodes in the table.
void print_places(uint64_t seed) {
  fmt::print("{:>10}{:>20}{:>22}\n", "nodes", "default_home us", "RunPlacement us");
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
      report.heard = now;
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
      return cluster::default_home(table, {"t" + std::to_string(i)}, needs, now);
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
      options.nodes = *value;
    else if (argument == "--seed")
      options.seed = *value;
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
  fmt::print("\n{} rules broken; {:.0f} s\n", broken == 0 ? "no" : std::to_string(broken), ms_since(start) / 1e3);
  return broken == 0 ? 0 : 1;
}
