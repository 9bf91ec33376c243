#include "supervisor/daemon/absent_annexes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "supervisor/annexes.h"

std::string absent_annexes_text() { return fmt::format("{}", fmt::join(absent_annexes(), ", ")); }

Result<> check_annexes(const Options& options) {
  const auto absent = absent_annexes();
  const std::pair<const char*, bool> keys[] = {{"cluster", !options.cluster.socket.empty()},
                                               {"traces", options.traces.has_value()}};
  for (const auto& [key, is_used] : keys)
    if (is_used && std::find(absent.begin(), absent.end(), key) != absent.end())
      return fail(Code::invalid,
                  fmt::format("the configuration has the key \"{}\", and this warderd was built without it", key),
                  fmt::format("remove the key, or use a warderd of Warder's package: it is built with {}", key), key);
  return {};
}

std::optional<doctor::Finding> judge_annexes() {
  if (absent_annexes().empty()) return std::nullopt;
  return doctor::Finding{"annexes", doctor::Health::note, "this warderd was built without " + absent_annexes_text(),
                         "if you need them: the warderd of Warder's package has all"};
}
