#include "supervisor/configuration/unit_sandbox.h"

#include <systemd/sd-bus.h>

#include <cstdlib>
#include <cstring>
#include <memory>

namespace configuration {
namespace {

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
  for (char** one = values; *one; one++) {
    // "-" and "+" before a path: missing paths are ignored; below RootDirectory=.
    all.emplace_back(*one + std::strspn(*one, "-+"));
    std::free(*one);
  }
  std::free(values);
  return all;
}

bool is_set(sd_bus* bus, const char* name) {
  int value = 0;
  return sd_bus_get_property_trivial(bus, kSystemd, kUnitPath, kService, name, nullptr, 'b', &value) >= 0 && value != 0;
}

}  // namespace

void add_unit(StartView& view) {
  sd_bus* opened = nullptr;
  if (sd_bus_open_system(&opened) < 0) return;
  const Bus bus(opened, sd_bus_flush_close_unref);
  sd_bus_set_method_call_timeout(opened, kPatienceUsec);
  if (text_property(opened, kUnit, "LoadState") != "loaded") return;
  view.sandbox.private_network = is_set(opened, "PrivateNetwork");
  view.sandbox.is_read_only = text_property(opened, kService, "ProtectSystem") == "strict";
  view.sandbox.writable = list_property(opened, kService, "ReadWritePaths");
  for (const std::string& socket : list_property(opened, kUnit, "TriggeredBy")) {
    view.held.mcp_passed |= socket == "warder.socket";
    view.held.http_passed |= socket == "warder-http.socket";
    view.held.metrics_passed |= socket == "warder-metrics.socket";
    view.held.node_passed |= socket == "warder-cluster.socket";
  }
}

}  // namespace configuration
