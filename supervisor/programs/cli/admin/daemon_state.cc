#include "supervisor/programs/cli/admin/daemon_state.h"

#include <poll.h>
#include <sys/wait.h>
#include <systemd/sd-journal.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <string_view>

#include "supervisor/programs/cli/admin/bus_client.h"

namespace admin {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

constexpr char kSystemd[] = "org.freedesktop.systemd1";
constexpr char kUnitPath[] = "/org/freedesktop/systemd1/unit/warder_2eservice";  // sd_bus_path_encode(warder.service)
constexpr uint64_t kSystemdPatienceUsec = 1'000'000;
constexpr auto kLookEach = 50ms;
constexpr auto kStartPatience = 2s, kStartingPatience = 5s;
constexpr size_t kMaxLogged = 1000;  // bytes of one message
constexpr int kMaxEntries = 200;     // of the journal, newest first

using StateMessage = std::unique_ptr<sd_bus_message, decltype(&sd_bus_message_unref)>;

// All properties of one interface of the unit, without starting a service for that.
Result<Json> unit_properties(sd_bus* bus, const char* interface) {
  sd_bus_message *created = nullptr, *answer = nullptr;
  int r =
      sd_bus_message_new_method_call(bus, &created, kSystemd, kUnitPath, "org.freedesktop.DBus.Properties", "GetAll");
  const StateMessage message(created, sd_bus_message_unref);
  if (r >= 0) r = sd_bus_message_set_auto_start(created, 0);
  if (r >= 0) r = sd_bus_message_append(created, "s", interface);
  if (r >= 0) r = sd_bus_call(bus, created, kSystemdPatienceUsec, nullptr, &answer);
  if (r < 0) return fail_errno(-r, "ask systemd", Code::unavailable);
  const StateMessage reply(answer, sd_bus_message_unref);
  TRY(auto values, read_values(answer));
  return values.empty() ? Json() : std::move(values.front());
}

int small(const Json& value) { return value.is_number_integer() ? value.get<int>() : 0; }

// Asks the bus to start the service, and does not wait for the answer: it comes only when the daemon is there.
void ask_to_start(sd_bus* bus) {
  sd_bus_message* created = nullptr;
  int r = sd_bus_message_new_method_call(bus, &created, "org.freedesktop.DBus", "/org/freedesktop/DBus",
                                         "org.freedesktop.DBus", "StartServiceByName");
  const StateMessage message(created, sd_bus_message_unref);
  if (r >= 0) r = sd_bus_message_append(created, "su", "org.warder.Warder1", 0u);
  if (r >= 0) r = sd_bus_message_set_expect_reply(created, 0);
  if (r >= 0) r = sd_bus_send(bus, created, nullptr);
  if (r >= 0) sd_bus_flush(bus);
}

std::string how_it_ended(const UnitState& unit) {
  if (unit.exit_code == 0) return unit.result.empty() ? "" : " (" + unit.result + ")";
  if (unit.exit_code == CLD_EXITED) return " (exit status " + std::to_string(unit.exit_status) + ")";
  return " (ended by signal " + std::to_string(unit.exit_status) + ")";
}

}  // namespace

Error unreachable_error(const UnitState& unit, ManagerScope manager, const std::string& last_error) {
  const bool own = manager == ManagerScope::user;
  const std::string systemctl = own ? "systemctl --user" : "sudo systemctl";
  const std::string log = own ? "journalctl --user -u warder" : "journalctl -u warder";
  Error error{Code::unavailable, 0, {}, {}, {}};
  if (unit.fails()) {
    error.what = "warderd fails to start" + how_it_ended(unit);
    if (!last_error.empty()) error.what += ": " + last_error;
    error.hint = "correct the cause, which `warderd --check` and `" + log + "` name; then: " + systemctl +
                 " restart warder.socket warder.service";
  } else if (unit.active == "activating") {
    error.what = "warderd is starting, and not ready yet";
    error.hint = "try again in some seconds; " + log + " has its log";
  } else if (unit.active == "deactivating") {
    error.what = "warderd is ending";
    error.hint = "start it again with: " + systemctl + " start warder.socket";
  } else if (unit.active == "active") {
    error.what = "warderd runs, but is not on this bus";
    error.hint = log + " says why; agents and `warder run` do not need the bus";
  } else {
    error.what = "warderd is stopped";
    error.hint = "start it with: " + systemctl + " start warder.socket";
  }
  return error;
}

std::optional<UnitState> unit_state(sd_bus* bus) {
  const auto unit = unit_properties(bus, "org.freedesktop.systemd1.Unit");
  const auto service = unit_properties(bus, "org.freedesktop.systemd1.Service");
  if (!unit || !service) return std::nullopt;
  UnitState state;
  state.load = text(*unit, "LoadState");
  state.active = text(*unit, "ActiveState");
  state.sub = text(*unit, "SubState");
  state.result = text(*service, "Result");
  state.exit_code = small(member(*service, "ExecMainCode"));
  state.exit_status = small(member(*service, "ExecMainStatus"));
  return state;
}

std::string last_logged_error(ManagerScope manager) {
  sd_journal* opened = nullptr;
  if (sd_journal_open(&opened, SD_JOURNAL_LOCAL_ONLY) < 0) return {};
  const std::unique_ptr<sd_journal, decltype(&sd_journal_close)> journal(opened, sd_journal_close);
  const char* unit =
      manager == ManagerScope::user ? "_SYSTEMD_USER_UNIT=warder.service" : "_SYSTEMD_UNIT=warder.service";
  if (sd_journal_add_match(opened, unit, 0) < 0 || sd_journal_seek_tail(opened) < 0) return {};
  for (int i = 0; i < kMaxEntries && sd_journal_previous(opened) > 0; i++) {
    const void* data = nullptr;
    size_t size = 0;
    if (sd_journal_get_data(opened, "PRIORITY", &data, &size) < 0) continue;
    const std::string_view priority(static_cast<const char*>(data), size);
    if (priority.size() != std::strlen("PRIORITY=3") || priority.back() > '3') continue;
    if (sd_journal_get_data(opened, "MESSAGE", &data, &size) < 0) continue;
    std::string_view message(static_cast<const char*>(data), size);
    message.remove_prefix(std::min(message.size(), std::strlen("MESSAGE=")));
    return std::string(message.substr(0, kMaxLogged));
  }
  return {};
}

std::optional<Error> why_unreachable(const std::string& bus_name) {
  const ManagerScope manager = bus_name == "session" ? ManagerScope::user : ManagerScope::system;
  sd_bus* opened = nullptr;
  const int r = manager == ManagerScope::user ? sd_bus_open_user(&opened) : sd_bus_open_system(&opened);
  if (r < 0) return std::nullopt;
  const std::unique_ptr<sd_bus, decltype(&sd_bus_flush_close_unref)> bus(opened, sd_bus_flush_close_unref);
  const auto unit = unit_state(opened);
  if (!unit || unit->load != "loaded" || unit->active == "active") return std::nullopt;
  return unreachable_error(*unit, manager, unit->fails() ? last_logged_error(manager) : std::string());
}

Result<> start_daemon(sd_bus* bus, const std::string& bus_name, const std::function<bool()>& is_there,
                      Error otherwise) {
  const ManagerScope manager = bus_name == "session" ? ManagerScope::user : ManagerScope::system;
  const auto started = steady_clock::now();
  auto unit = unit_state(bus);
  if (!unit || unit->load != "loaded") return tl::unexpected<Error>(std::move(otherwise));
  if (unit->active == "inactive") ask_to_start(bus);
  while (unit->active != "failed") {  // a restart after one crash may succeed
    if (is_there()) return {};
    const bool starts = unit->active == "activating" && !unit->fails();
    if (steady_clock::now() - started > (starts ? kStartingPatience : kStartPatience)) break;
    ::poll(nullptr, 0, static_cast<int>(kLookEach.count()));
    unit = unit_state(bus);
    if (!unit) return tl::unexpected<Error>(std::move(otherwise));
  }
  return tl::unexpected<Error>(unreachable_error(*unit, manager, unit->fails() ? last_logged_error(manager) : ""));
}

}  // namespace admin
