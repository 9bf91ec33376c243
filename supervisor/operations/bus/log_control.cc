// org.freedesktop.LogControl1, the interface for `systemctl service-log-level`. sd-bus sets writable properties at
// once, but the caller's rights are known only after a question to the bus. So Set is handled before sd-bus sees it.
#include <string_view>

#include "supervisor/base/log.h"
#include "supervisor/operations/bus/bus_objects.h"

namespace bus {
namespace {

// The daemon's log level by its name in syslog(3), for example "debug". All levels above "err" count as "err".
std::string level_text() {
  constexpr const char* kNames[] = {"error", "error", "error", "error", "warning", "notice", "info", "debug"};
  const char* name = kNames[static_cast<int>(log_level()) & 7];
  return std::string_view(name) == "error" ? "err" : name;
}

int get_level(sd_bus*, const char*, const char*, const char*, sd_bus_message* reply, void*, sd_bus_error*) {
  return append(reply, level_text());
}
int get_target(sd_bus*, const char*, const char*, const char*, sd_bus_message* reply, void*, sd_bus_error*) {
  return append(reply, std::string(std::getenv("JOURNAL_STREAM") ? "journal" : "console"));
}
int get_identifier(sd_bus*, const char*, const char*, const char*, sd_bus_message* reply, void*, sd_bus_error*) {
  return append(reply, std::string("warderd"));
}
int refuse(sd_bus*, const char*, const char*, const char*, sd_bus_message*, void*, sd_bus_error* error) {
  return sd_bus_error_set(error, error_name(Code::invalid).c_str(), "set by handle_log_control only");
}

}  // namespace

const sd_bus_vtable kLogControlTable[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_WRITABLE_PROPERTY("LogLevel", "s", get_level, refuse, 0, 0),
    SD_BUS_PROPERTY("LogTarget", "s", get_target, 0, 0),
    SD_BUS_PROPERTY("SyslogIdentifier", "s", get_identifier, 0, SD_BUS_VTABLE_PROPERTY_CONST),
    SD_BUS_VTABLE_END,
};

int handle_log_control(sd_bus_message* call, void* objects, sd_bus_error*) {
  if (!sd_bus_message_is_method_call(call, "org.freedesktop.DBus.Properties", "Set")) return 0;
  const char *interface = nullptr, *property = nullptr;
  if (!sd_bus_message_has_signature(call, "ssv") || sd_bus_message_read(call, "ss", &interface, &property) < 0)
    return 0;
  if (std::string_view(interface) != "org.freedesktop.LogControl1" || std::string_view(property) != "LogLevel") {
    sd_bus_message_rewind(call, 1);
    return 0;
  }
  auto& owner = *static_cast<BusObjects*>(objects);
  owner.answer(share(call), owner.set_log_level(share(call)));
  return 1;
}

}  // namespace bus
