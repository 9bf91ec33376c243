// Members that rooms bring, as sd-bus calls them: those of the Manager, and whole interfaces at the same path.
#include "supervisor/operations/bus/object_values.h"

namespace bus {
namespace {

int get_of_interface(sd_bus*, const char*, const char* interface, const char* name, sd_bus_message* reply, void* data,
                     sd_bus_error*) {
  const auto& interfaces = static_cast<BusObjects*>(data)->services().members_of_rooms.interfaces();
  const auto members = interfaces.find(std::string_view(interface));
  return members == interfaces.end() ? -ENXIO : append_value_of(members->second.values(), name, reply);
}

const MethodHandler* handler_of(const OfferedMembers& members, sd_bus_message* call) {
  const char* name = sd_bus_message_get_interface(call);
  const std::string_view interface = name ? name : kManager;
  if (interface == kManager) return members.find_method(sd_bus_message_get_member(call));
  const auto other = members.interfaces().find(interface);
  return other == members.interfaces().end() ? nullptr : other->second.find_method(sd_bus_message_get_member(call));
}

}  // namespace

int append_value_of(const OfferedMembers::Values& values, std::string_view name, sd_bus_message* to) {
  const auto value = values.find(name);
  if (value == values.end()) return -ENXIO;
  return std::visit([to](const auto& item) { return append(to, item); }, value->second);
}

int call_of_room(sd_bus_message* call, void* data, sd_bus_error*) {
  auto& objects = *static_cast<BusObjects*>(data);
  const MethodHandler* handler = handler_of(objects.services().members_of_rooms, call);
  if (!handler) return 0;
  objects.answer(share(call), (*handler)(share(call), objects.authority()));
  return 1;
}

std::map<std::string, std::vector<sd_bus_vtable>, std::less<>> tables_of_rooms(const OfferedMembers& members) {
  std::map<std::string, std::vector<sd_bus_vtable>, std::less<>> tables;
  for (const auto& [name, of_interface] : members.interfaces()) {
    std::vector<sd_bus_vtable>& table = tables[name];
    table.push_back(SD_BUS_VTABLE_START(0));
    for (const sd_bus_vtable& row : of_interface.rows(get_of_interface, call_of_room, 0)) table.push_back(row);
    table.push_back(SD_BUS_VTABLE_END);
  }
  return tables;
}

ObjectKind BusObjects::kind_of_interface(std::string_view interface) const {
  const auto table = room_tables_.find(interface);
  if (table == room_tables_.end()) return {kPath, kManager, manager_table_.data()};
  return {kPath, table->first.c_str(), table->second.data()};
}

}  // namespace bus
