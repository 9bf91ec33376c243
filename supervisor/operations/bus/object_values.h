// Values of the objects of executions and tenants, read from their tables. sd-bus would answer reads and announce
// changes by itself, but to every user of the bus; these functions serve the parts that first look at the reader.
// Used by: read_objects.cc, signals.cc. Negative results: -errno of sd-bus.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/operations/bus/bus_objects.h"

namespace bus {

// ObjectKind: the objects that not every user may see, and their table.
struct ObjectKind {
  const char* folder;     // path of the parent object
  const char* interface;  // the only interface of their own
  const sd_bus_vtable* table;
};
inline constexpr ObjectKind kExecutions{kExecutionPath, kExecution, kExecutionTable};
inline constexpr ObjectKind kTenants{kTenantPath, kTenant, kTenantTable};
// Appends a{sv}: the properties of the object at `path`, or only those with one of `names`. -ENOENT: it is gone.
int append_properties(sd_bus_message* to, const ObjectKind& kind, const std::string& path, BusObjects& objects,
                      const std::vector<std::string_view>* names = nullptr);
// Appends v: one property. -ENXIO: the object has no such property.
int append_property(sd_bus_message* to, const ObjectKind& kind, const std::string& path, const char* name,
                    BusObjects& objects);
// Appends a{sa{sv}}: the standard interfaces of every object, and its own.
int append_interfaces(sd_bus_message* to, const ObjectKind& kind, const std::string& path, BusObjects& objects);

// The interfaces that each object has besides its own; they have no properties.
inline constexpr const char* kStandardInterfaces[] = {
    "org.freedesktop.DBus.Peer", "org.freedesktop.DBus.Introspectable", "org.freedesktop.DBus.Properties"};

}  // namespace bus
