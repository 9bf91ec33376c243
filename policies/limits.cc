#include "policies/limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace policies {

namespace {

class Resolver {
 public:
  template <class T, class Text>
  T pick(const char* name, const std::optional<T>& request, T standard, T floor, T ceiling, Text text) {
    if (!request) return standard;
    const T input = std::clamp(*request, std::min(floor, ceiling), ceiling);
    if (input != *request) clamps.push_back({name, text(*request), text(input)});
    return input;
  }
  std::vector<Clamp> clamps;
};

}  // namespace

uint64_t temporary_bytes(const Limits& limits) { return std::min(limits.tmp_bytes, limits.memory_bytes / 2); }

std::string bytes_text(uint64_t bytes) {
  constexpr std::pair<uint64_t, const char*> kUnits[] = {
      {1ull << 40, "TiB"}, {1ull << 30, "GiB"}, {1ull << 20, "MiB"}, {1ull << 10, "KiB"}};
  for (auto [size, unit] : kUnits) {
    if (bytes < size) continue;
    if (bytes % size == 0) return fmt::format("{} {}", bytes / size, unit);
    if (bytes % (size / 2) == 0) return fmt::format("{}.5 {}", bytes / size, unit);
  }
  return fmt::format("{} bytes", bytes);
}

std::string duration_text(std::chrono::milliseconds time) {
  const auto ms = time.count();
  if (ms > -1000 && ms < 1000) return fmt::format("{} ms", ms);
  if (ms % 1000 == 0) return fmt::format("{} s", ms / 1000);
  return fmt::format("{} s", static_cast<double>(ms) / 1000);
}

std::pair<Limits, std::vector<Clamp>> resolve(const Ceilings& ceilings, const LimitRequest& request) {
  const Limits& standard = ceilings.standard;
  const Limits& maximum = ceilings.maximum;
  Limits limits = standard;
  Resolver r;
  auto number = [](auto n) { return fmt::format("{}", n); };

  limits.wall = r.pick("wall_ms", request.wall, standard.wall, kMinWall, maximum.wall, duration_text);

  // 0 means no limit besides `wall`, in the request and in the policy.
  using std::chrono::milliseconds;
  const milliseconds none = milliseconds::max();
  auto cpu_text = [none](milliseconds t) { return t == none ? std::string("none") : duration_text(t); };
  auto bound = [none](milliseconds t) { return t == milliseconds(0) ? none : t; };
  std::optional<milliseconds> cpu;
  if (request.cpu) cpu = bound(*request.cpu);
  const milliseconds value = r.pick("cpu_ms", cpu, bound(standard.cpu), milliseconds(1), bound(maximum.cpu), cpu_text);
  limits.cpu = value == none ? milliseconds(0) : value;

  limits.memory_bytes = r.pick("memory_bytes", request.memory_bytes, standard.memory_bytes, kMinMemoryBytes,
                               maximum.memory_bytes, bytes_text);
  limits.tasks = r.pick("tasks", request.tasks, standard.tasks, kMinTasks, maximum.tasks, number);

  std::optional<double> cpus = request.cpus;
  if (cpus && std::isnan(*cpus)) cpus.reset();  // NaN cannot be compared, so it cannot be clamped
  limits.cpus = r.pick("cpus", cpus, standard.cpus, kMinCpus, maximum.cpus, number);

  limits.output_bytes = r.pick("output_bytes", request.output_bytes, standard.output_bytes, kMinOutputBytes,
                               maximum.output_bytes, bytes_text);
  return {limits, std::move(r.clamps)};
}

}  // namespace policies
