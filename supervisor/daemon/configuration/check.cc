#include "supervisor/daemon/configuration/check.h"

#include <fmt/format.h>
#include <systemd/sd-login.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string_view>

#include "supervisor/base/environment.h"
#include "supervisor/daemon/configuration/reload_exchange.h"
#include "supervisor/daemon/configuration/trial.h"
#include "supervisor/daemon/configuration/unit_sandbox.h"

namespace configuration {
namespace {

constexpr char kServiceFile[] = "/etc/warder/warderd.json";

bool is_in_service() {
  char* unit = nullptr;
  if (sd_pid_get_unit(0, &unit) < 0) return false;  // no unit of systemd
  const std::unique_ptr<char, decltype(&std::free)> owner(unit, std::free);
  return std::string_view(unit) == "warder.service";
}

// Whether this is the configuration of warder.service, and this process is not of that unit.
bool is_of_service(const Invocation& invocation) {
  const std::string& file = invocation.flags.config;
  return invocation.by_root && (file.empty() || file == kServiceFile) && invocation.flags.state.empty() &&
         !is_in_service();
}

StartView view_of(const LoadedConfiguration& loaded, const Invocation& invocation) {
  StartView view;
  const auto is_running = is_daemon_running(loaded.options.state);
  if (!is_running || *is_running) {
    auto held_sockets = read_held_sockets(loaded.options.state);
    view.held_unknown = !held_sockets;
    if (held_sockets) view.listening = *std::move(held_sockets);
  }
  if (is_of_service(invocation)) add_unit(view);
  return view;
}

}  // namespace

LoadedConfiguration check(const Invocation& invocation) {
  LoadedConfiguration loaded = load(invocation);
  const StartView view = view_of(loaded, invocation);
  try_start(loaded, invocation, view);
  auto& warnings = loaded.notes.warnings;
  if (view.held_unknown)
    warnings.push_back(
        "not tried: whether addresses are free, because the sockets of the running daemon are not known");
  if (invocation.by_root && ::geteuid() != 0)
    warnings.push_back("not tried: the folders, which only root may try; call as root");
  if (auto& traces = loaded.options.traces) {
    auto headers = spans::load_headers(*traces, environment("CREDENTIALS_DIRECTORY"));
    if (!headers)
      warnings.push_back(loaded.document.file_of("traces") + ": traces: " + headers.error().what +
                         "; no spans are exported");
  }
  return loaded;
}

}  // namespace configuration
