// unit_sandbox(): what warder.service forbids a start, as systemd has loaded the unit with its drop-ins. For checks
// outside of the unit, which have other rights and another network.
// Source: D-Bus, org.freedesktop.systemd1; any user may ask. Waits at most a second. No errors: where systemd does not
// answer or does not know the unit, no limit is known. TemporaryFileSystem=, BindPaths=, PrivateTmp= and
// StateDirectory= with its like are not understood.
#pragma once
#include <string>
#include <vector>

#include "supervisor/daemon/configuration/start_view.h"

namespace configuration {

// Sets the sandbox of `view`, and which sockets systemd passes.
void add_unit(StartView& view);

// Settings of a unit about paths, systemd.exec(5). Prefixes of paths ("-", "+") are removed.
struct UnitPathSettings {
  std::string protect_system;                                    // "no", "yes", "full", "strict"; empty: not known
  std::string protect_home;                                      // "no", "yes", "read-only", "tmpfs"; empty: not known
  std::vector<std::string> read_write, read_only, inaccessible;  // ReadWritePaths=, ReadOnlyPaths=, InaccessiblePaths=
};

// Links in the paths are resolved as they are on this machine.
std::vector<PathRule> path_rules(const UnitPathSettings& settings);

// The rule for a path, which may be missing on this machine. nullptr: no rule, the path may be written. The rule of a
// hidden path holds for all paths below it, also for those with another rule.
const PathRule* rule_for(const std::vector<PathRule>& rules, const std::string& path);
// Whether the rule names this path itself. Of two rules for one path systemd takes the stricter one, so that
// ReadWritePaths= opens no path that the rule names, only paths below it.
bool is_rule_of(const PathRule& rule, const std::string& path);

}  // namespace configuration
