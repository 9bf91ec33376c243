#include "supervisor/operations/bus/object_values.h"

#include <algorithm>

namespace bus {
namespace {

using Row = sd_bus_vtable;

int append_value(sd_bus_message* to, const ObjectKind& kind, const std::string& path, const Row& row,
                 BusObjects& objects) {
  int r = sd_bus_message_open_container(to, 'v', row.x.property.signature);
  if (r >= 0)
    r = row.x.property.get(nullptr, path.c_str(), kind.interface, row.x.property.member, to, &objects, nullptr);
  return r < 0 ? r : sd_bus_message_close_container(to);
}

int append_named_value(sd_bus_message* to, const ObjectKind& kind, const std::string& path, const Row& row,
                       BusObjects& objects) {
  int r = sd_bus_message_open_container(to, 'e', "sv");
  if (r >= 0) r = sd_bus_message_append(to, "s", row.x.property.member);
  if (r >= 0) r = append_value(to, kind, path, row, objects);
  return r < 0 ? r : sd_bus_message_close_container(to);
}

int append_empty_interface(sd_bus_message* to, const char* name) {
  return sd_bus_message_append(to, "{sa{sv}}", name, 0);
}

}  // namespace

int append_properties(sd_bus_message* to, const ObjectKind& kind, const std::string& path, BusObjects& objects,
                      const std::vector<std::string_view>* names) {
  int r = sd_bus_message_open_container(to, 'a', "{sv}");
  for (const Row* row = kind.table; r >= 0 && row->type != _SD_BUS_VTABLE_END; row++) {
    if (row->type != _SD_BUS_VTABLE_PROPERTY) continue;
    if (names && std::find(names->begin(), names->end(), row->x.property.member) == names->end()) continue;
    r = append_named_value(to, kind, path, *row, objects);
  }
  return r < 0 ? r : sd_bus_message_close_container(to);
}

int append_property(sd_bus_message* to, const ObjectKind& kind, const std::string& path, const char* name,
                    BusObjects& objects) {
  for (const Row* row = kind.table; row->type != _SD_BUS_VTABLE_END; row++)
    if (row->type == _SD_BUS_VTABLE_PROPERTY && std::string_view(row->x.property.member) == name)
      return append_value(to, kind, path, *row, objects);
  return -ENXIO;
}

int append_interfaces(sd_bus_message* to, const ObjectKind& kind, const std::string& path, BusObjects& objects) {
  int r = sd_bus_message_open_container(to, 'a', "{sa{sv}}");
  for (const char* name : kStandardInterfaces)
    if (r >= 0) r = append_empty_interface(to, name);
  if (r >= 0) r = sd_bus_message_open_container(to, 'e', "sa{sv}");
  if (r >= 0) r = sd_bus_message_append(to, "s", kind.interface);
  if (r >= 0) r = append_properties(to, kind, path, objects);
  if (r >= 0) r = sd_bus_message_close_container(to);
  return r < 0 ? r : sd_bus_message_close_container(to);
}

}  // namespace bus
