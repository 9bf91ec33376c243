#include "supervisor/daemon/absent_annexes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "supervisor/annexes.h"

bool is_annex_absent(std::string_view name) {
  const auto absent = absent_annexes();
  return std::find(absent.begin(), absent.end(), name) != absent.end();
}

std::string absent_annexes_text() { return fmt::format("{}", fmt::join(absent_annexes(), ", ")); }

void note_absent_annexes(configuration::LoadedConfiguration& loaded) {
  const auto note = [&loaded](std::string_view annex, const std::string& key, bool is_used) {
    if (is_used && is_annex_absent(annex))
      loaded.notes.problems.push_back(fmt::format(
          "{}: this warderd was built without {}: remove the key, or use the warderd of Warder's package", key, annex));
  };
  note("cluster", "cluster", !loaded.options.cluster.socket.empty());
  note("traces", "traces", loaded.options.traces.has_value());
  for (const auto& server : loaded.options.servers) {
    note("oauth", fmt::format("servers.{}.oauth", server.name), server.oauth.has_value());
    note("egress", fmt::format("servers.{}.egress", server.name), server.egress.is_on());
  }
}

std::optional<doctor::Finding> judge_annexes() {
  if (absent_annexes().empty()) return std::nullopt;
  return doctor::Finding{"annexes", doctor::Health::note, "this warderd was built without " + absent_annexes_text(),
                         "if you need them: the warderd of Warder's package has all"};
}
