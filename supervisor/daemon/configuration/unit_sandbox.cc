#include "supervisor/daemon/configuration/unit_sandbox.h"

#include <systemd/sd-bus.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

namespace configuration {
namespace {

namespace fs = std::filesystem;
using Access = PathRule::Access;

constexpr char kSystemd[] = "org.freedesktop.systemd1";
constexpr char kUnitPath[] = "/org/freedesktop/systemd1/unit/warder_2eservice";  // sd_bus_path_encode(warder.service)
constexpr char kService[] = "org.freedesktop.systemd1.Service";
constexpr char kUnit[] = "org.freedesktop.systemd1.Unit";
constexpr uint64_t kPatienceUsec = 1'000'000;

using Bus = std::unique_ptr<sd_bus, decltype(&sd_bus_flush_close_unref)>;

std::string text_property(sd_bus* bus, const char* interface, const char* name) {
  char* value = nullptr;
  if (sd_bus_get_property_string(bus, kSystemd, kUnitPath, interface, name, nullptr, &value) < 0) return {};
  const std::unique_ptr<char, decltype(&std::free)> owner(value, std::free);
  return value;
}

std::vector<std::string> list_property(sd_bus* bus, const char* interface, const char* name) {
  char** values = nullptr;
  if (sd_bus_get_property_strv(bus, kSystemd, kUnitPath, interface, name, nullptr, &values) < 0 || !values) return {};
  std::vector<std::string> all;
  for (char** value = values; *value; value++) {
    // "-" and "+" before a path: missing paths are ignored; below RootDirectory=.
    all.emplace_back(*value + std::strspn(*value, "-+"));
    std::free(*value);
  }
  std::free(values);
  return all;
}

bool is_set(sd_bus* bus, const char* name) {
  int value = 0;
  return sd_bus_get_property_trivial(bus, kSystemd, kUnitPath, kService, name, nullptr, 'b', &value) >= 0 && value != 0;
}

// Without symbolic links in the part that exists. A path that this process may not look at stays as it is written.
fs::path resolved(const std::string& path) {
  std::error_code failed;
  fs::path real = fs::weakly_canonical(path, failed);
  if (failed) real = fs::path(path).lexically_normal();
  return real.has_filename() || real == real.root_path() ? real : real.parent_path();  // no slash at the end
}

// Both without links and without a slash at the end.
bool is_at_or_below(const fs::path& path, const fs::path& folder) {
  return std::mismatch(path.begin(), path.end(), folder.begin(), folder.end()).second == folder.end();
}

}  // namespace

std::vector<PathRule> path_rules(const UnitPathSettings& settings) {
  std::vector<PathRule> rules;
  const auto add = [&](Access access, const std::string& setting, const std::vector<std::string>& paths) {
    for (const std::string& path : paths) rules.push_back({resolved(path), access, setting});
  };
  const std::string& system = settings.protect_system;
  const std::vector<std::string> homes = {"/home", "/root", "/run/user"};
  const std::string of_system = "ProtectSystem=", of_home = "ProtectHome=";
  if (system == "strict") {
    add(Access::read_only, of_system, {"/"});
    add(Access::read_write, of_system, {"/dev", "/proc", "/sys"});
    if (settings.protect_home == "no") add(Access::read_write, of_home, homes);  // ProtectHome= alone decides on these
  }
  if (system == "yes" || system == "full") add(Access::read_only, of_system, {"/usr", "/boot", "/efi"});
  if (system == "full") add(Access::read_only, of_system, {"/etc"});
  // "tmpfs" shows an empty folder: a path of ReadWritePaths= below it does not exist, and the unit would not start.
  if (settings.protect_home == "yes" || settings.protect_home == "tmpfs") add(Access::hidden, of_home, homes);
  if (settings.protect_home == "read-only") add(Access::read_only, of_home, homes);
  add(Access::read_write, "ReadWritePaths=", settings.read_write);
  add(Access::read_only, "ReadOnlyPaths=", settings.read_only);
  add(Access::hidden, "InaccessiblePaths=", settings.inaccessible);
  return rules;
}

const PathRule* rule_for(const std::vector<PathRule>& rules, const std::string& path) {
  const fs::path real = resolved(path);
  const PathRule* path_rule = nullptr;
  for (const PathRule& rule : rules) {
    if (!is_at_or_below(real, rule.path)) continue;
    const bool is_hidden = path_rule && path_rule->access == Access::hidden, hides = rule.access == Access::hidden;
    const bool is_deeper = !path_rule || rule.path.size() > path_rule->path.size();
    const bool is_stricter = path_rule && rule.path == path_rule->path && rule.access < path_rule->access;
    if (hides || (!is_hidden && (is_deeper || is_stricter))) path_rule = &rule;
  }
  return path_rule;
}

bool is_rule_of(const PathRule& rule, const std::string& path) { return resolved(path) == rule.path; }

void add_unit(StartView& view) {
  sd_bus* opened = nullptr;
  if (sd_bus_open_system(&opened) < 0) return;
  const Bus bus(opened, sd_bus_flush_close_unref);
  sd_bus_set_method_call_timeout(opened, kPatienceUsec);
  if (text_property(opened, kUnit, "LoadState") != "loaded") return;
  view.sandbox.private_network = is_set(opened, "PrivateNetwork");
  UnitPathSettings settings;
  settings.protect_system = text_property(opened, kService, "ProtectSystem");
  settings.protect_home = text_property(opened, kService, "ProtectHome");
  settings.read_write = list_property(opened, kService, "ReadWritePaths");
  settings.read_only = list_property(opened, kService, "ReadOnlyPaths");
  settings.inaccessible = list_property(opened, kService, "InaccessiblePaths");
  view.sandbox.paths = path_rules(settings);
  for (const std::string& socket : list_property(opened, kUnit, "TriggeredBy")) {
    view.listening.mcp_passed |= socket == "warder.socket";
    view.listening.http_passed |= socket == "warder-http.socket";
    view.listening.metrics_passed |= socket == "warder-metrics.socket";
    view.listening.node_passed |= socket == "warder-cluster.socket";
  }
}

}  // namespace configuration
