// pii-bench [--judge FACTOR] [MEGABYTES [FOLDER]]: how fast personal data is looked for in text where there is little
// of it, where there is much, and in source code: the files of FOLDER, by default the daemon's own. Deterministic but
// for the clock. Judged (tests/judge.h), it fails when it takes longer than promised.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "policies/pii/tokens.h"
#include "supervisor/base/clock.h"
#include "tests/fresh_meter.h"
#include "tests/judge.h"

namespace {

// Words, numbers, dates and marks as in reports and logs; every `every` bytes or so one datum.
std::string make_text(size_t bytes, size_t every) {
  static constexpr const char* kData[] = {"ada@lovelace.org",
                                          "(555) 234-5678",
                                          "+44 20 7946 0958",
                                          "078-05-1120",
                                          "4111 1111 1111 1111",
                                          "192.168.10.44",
                                          "DE89 3704 0044 0532 0130 00",
                                          "AKIAIOSFODNN7ABCDEFG",
                                          "password=Tr0ub4dor&3x"};
  static constexpr const char* kWords[] = {"the",
                                           "request",
                                           "was",
                                           "answered",
                                           "after",
                                           "12",
                                           "ms",
                                           "by",
                                           "server-3;",
                                           "status",
                                           "200,",
                                           "2026-11-21",
                                           "12:34:56",
                                           "see",
                                           "issue",
                                           "#4711:",
                                           "std::vector<int>",
                                           "total",
                                           "1,024.50",
                                           "of",
                                           "customers",
                                           "in",
                                           "v1.2.3",
                                           "order",
                                           "https://example.org/a/b?c=d",
                                           "Monday",
                                           "(again)",
                                           "was",
                                           "late",
                                           "and",
                                           "nobody",
                                           "noticed.\n"};
  std::mt19937_64 random(7);
  std::string text;
  size_t next = every;
  while (text.size() < bytes) {
    text += kWords[random() % std::size(kWords)];
    text += ' ';
    if (text.size() < next) continue;
    text += kData[random() % std::size(kData)];
    text += ' ';
    next = text.size() + every;
  }
  return text;
}

// The files of a folder, in the order of their names, again and again until it is enough.
std::string read_source(size_t bytes, const std::string& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const auto ending = entry.path().extension();
    if (ending == ".cc" || ending == ".h" || ending == ".py" || ending == ".js") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::string text;
  while (!files.empty() && text.size() < bytes) {
    const size_t before = text.size();
    for (const auto& path : files) {
      std::ifstream file(path, std::ios::binary);
      text.append(std::istreambuf_iterator<char>(file), {});
    }
    if (text.size() == before) break;
  }
  text.resize(std::min(text.size(), bytes));
  return text;
}

// MB/s.
double measure(const char* name, const policies::PiiDetector& detector, const std::string& text) {
  double best = 1e9;
  size_t count = 0;
  size_t looks = 0;
  for (int i = 0; i < 5; i++) {
    const auto start = Monotonic::now();
    policies::PiiScan scan(text, detector);
    while (scan.step() == policies::PiiScan::Step::more) continue;
    count = scan.take().size();
    looks = scan.looks();
    best = std::min(best, ms_since(start));
  }
  const double speed = static_cast<double>(text.size()) / 1e3 / best;
  fmt::print("{:34}{:8.0f} MB/s   {} found, looked {} times a MB\n", name, speed, count,
             looks * 1'000'000 / text.size());
  return speed;
}

}  // namespace

int main(int argc, char** argv) {
  Judge judge(argc, argv);
  const size_t bytes = static_cast<size_t>(argc > 1 ? std::atoi(argv[1]) : 16) << 20;
  policies::PiiOptions shapes_only;
  shapes_only.secrets = policies::PiiOptions::Secrets::leave;
  const auto shapes = *policies::PiiDetector::make(shapes_only), all = *policies::PiiDetector::make({});
  const std::string sparse = make_text(bytes, 20'000), dense = make_text(bytes, 200);
  judge.at_least("sparse, shapes, MB/s", measure("sparse, shapes", *shapes, sparse), 200);
  judge.at_least("sparse, shapes and secrets, MB/s", measure("sparse, shapes and secrets", *all, sparse), 50);
  measure("dense, shapes", *shapes, dense);
  measure("dense, shapes and secrets", *all, dense);
  const std::string source = read_source(bytes, argc > 2 ? argv[2] : WARDER_SOURCE_DIR "/supervisor");
  measure("source code, shapes", *shapes, source);
  measure("source code, shapes and secrets", *all, source);
  policies::MemoryVault vault;
  const auto start = Monotonic::now();
  auto clean = policies::sanitize(sparse, *all, vault, FreshMeter());
  const double sanitize_ms = ms_since(start);
  const auto restoring = Monotonic::now();
  const bool same = clean && policies::restore(clean->text, vault, FreshMeter()).value() == sparse;
  fmt::print("{:34}{:8.0f} MB/s\n{:34}{:8.0f} MB/s\n", "sparse, sanitize",
             static_cast<double>(bytes) / 1e3 / sanitize_ms, "sparse, restore",
             static_cast<double>(bytes) / 1e3 / ms_since(restoring));
  return same && judge.satisfied() ? 0 : 1;
}
