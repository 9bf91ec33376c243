// warder-bench: what an execution and a request cost, beside what the machine's own programs cost in the same run.
// Rounds: in each, every case runs a few times, in an order that is shuffled anew. Figures, never verdicts.
#include <fmt/format.h>
#include <sys/utsname.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <fstream>
#include <random>
#include <thread>

#include "tests/bench/cases.h"

namespace bench {
namespace {

volatile std::sig_atomic_t interrupted = 0;

struct Options {
  std::string daemon, policies;
  double seconds = 30;
  int rounds = 200;
  bool smoke = false;
};

std::string first_line_of(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

void print_machine(const char* when) { fmt::print("{}: load {}\n", when, first_line_of("/proc/loadavg")); }

Result<int> measure(Cases& cases, const Options& options) {
  std::mt19937 random(std::random_device{}());
  std::vector<Case*> order;
  for (Case& c : cases.list()) {
    if (c.absent.empty()) order.push_back(&c);
  }
  auto start = Monotonic::now();
  int rounds = 0;
  while (rounds < options.rounds && !interrupted && (rounds == 0 || ms_since(start) < options.seconds * 1000)) {
    std::shuffle(order.begin(), order.end(), random);
    cases.begin_round();
    rounds++;
    for (Case* c : order) {
      for (int i = 0; i < c->per_round; i++) {
        TRY(Sample sample, c->run());
        c->series.add(sample);
      }
    }
  }
  return rounds;
}

std::string displayed(double us) {
  return us < 1000 ? fmt::format("{:.1f} us", us) : fmt::format("{:.2f} ms", us / 1000);
}

void print_cases(std::vector<Case>& list) {
  fmt::print("\n{:<40} {:>6} {:>10} {:>10} {:>10} {:>10}   {}\n", "", "n", "p10", "p50", "p99", "CPU",
             "ratio to its baseline");
  for (const Case& c : list) {
    if (!c.absent.empty()) {
      fmt::print("{:<40} not measured: {}\n", c.name, c.absent);
      continue;
    }
    std::string ratio = "baseline";
    if (!c.baseline.empty()) {
      auto other = std::find_if(list.begin(), list.end(), [&](const Case& o) { return o.name == c.baseline; });
      auto value = c.series.ratio_to(other->series);
      ratio = value ? fmt::format("{:.2f} x {}", *value, c.baseline) : "";
    }
    auto cpu = c.cpu_is_whole ? c.series.cpu_us() : std::nullopt;
    fmt::print("{:<40} {:>6} {:>10} {:>10} {:>10} {:>10}   {}\n", c.name, c.series.count(), displayed(c.series.at(0.1)),
               displayed(c.series.at(0.5)), displayed(c.series.at(0.99)), cpu ? displayed(*cpu) : "", ratio);
  }
}

void print_breakdown(const std::vector<Part>& parts) {
  fmt::print("\n{:<50} {:>10} {:>10} {:>8}\n", "A cold jailed Python, step by step", "p10", "p50", "of it");
  double full = parts.empty() ? 0 : parts[0].series.at(0.5);
  for (const Part& p : parts) {
    double middle = p.series.at(0.5);
    fmt::print("{:<50} {:>10} {:>10} {:>6.1f} %\n", std::string(static_cast<size_t>(p.depth) * 2, ' ') + p.name,
               displayed(p.series.at(0.1)), displayed(middle), 100 * middle / full);
  }
}

// A figure that is missing is the one failure a benchmark has.
bool all_measured(Cases& cases) {
  bool complete = !cases.breakdown().empty();
  for (const Case& c : cases.list()) complete &= !c.absent.empty() || (!c.series.empty() && c.series.at(0.5) > 0);
  return complete;
}

Result<bool> run(const Options& options) {
  TRY(auto daemon, Daemon::start(options.daemon, options.policies));
  Cases cases(*daemon);
  auto prepared = cases.prepare();
  if (!prepared) {
    prepared.error().hint = "the daemon's log ends:\n" + daemon->log_end();
    return tl::unexpected<Error>(std::move(prepared).error());
  }
  utsname machine{};
  ::uname(&machine);
  fmt::print("{} processors, Linux {}\n", std::thread::hardware_concurrency(), machine.release);
  print_machine("before");
  TRY(int rounds, measure(cases, options));
  print_machine("after");
  fmt::print("{} rounds\n", rounds);
  print_cases(cases.list());
  print_breakdown(cases.breakdown());
  return all_measured(cases);
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  bench::Options options;
  CLI::App app(
      "Measures Warder beside the bare interpreters and bubblewrap, in one run. Compare the ratios, not the times.");
  app.add_option("--daemon", options.daemon, "The warderd to measure; a release build")
      ->required()
      ->check(CLI::ExistingFile);
  app.add_option("--policies", options.policies, "Its policies")->required()->check(CLI::ExistingDirectory);
  app.add_option("--seconds", options.seconds, "No new round after these")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 3600.0));
  app.add_option("--rounds", options.rounds, "At most so many")->capture_default_str()->check(CLI::Range(1, 10000));
  app.add_flag("--smoke", options.smoke, "Two seconds: are all figures produced?");
  CLI11_PARSE(app, argc, argv);
  if (options.smoke) options.seconds = 2;
  std::signal(SIGINT, [](int) { bench::interrupted = 1; });
  std::signal(SIGPIPE, SIG_IGN);
  auto complete = bench::run(options);
  if (!complete) {
    fmt::print(stderr, "warder-bench: {}\n{}\n", complete.error().what, complete.error().hint);
    return 1;
  }
  if (!*complete) fmt::print(stderr, "warder-bench: some figures are missing\n");
  return *complete ? 0 : 1;
}
