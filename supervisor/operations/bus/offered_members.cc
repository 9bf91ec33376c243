#include "supervisor/operations/bus/offered_members.h"

namespace bus {

std::string OfferedMembers::signature_of(const PropertyValue& value) {
  constexpr const char* kSignatures[] = {"s", "b", "u", "t", "as", "a{st}"};
  static_assert(std::size(kSignatures) == std::variant_size_v<PropertyValue>);
  return kSignatures[value.index()];
}

void OfferedMembers::add_method(std::string name, Parameters arguments, Parameters results, MethodHandler handler,
                                Secrecy secrecy) {
  OfferedMethod method{std::move(name), {}, {}, {}, std::move(handler), secrecy};
  for (const auto& [type, parameter] : arguments) {
    method.arguments += type;
    method.names += parameter + '\0';
  }
  for (const auto& [type, parameter] : results) {
    method.results += type;
    method.names += parameter + '\0';
  }
  methods_.push_back(std::move(method));
}

OfferedMembers::Values OfferedMembers::values() const {
  Values values;
  for (const OfferedProperty& property : properties_) values.emplace(property.name, property.value());
  return values;
}

const MethodHandler* OfferedMembers::find_method(std::string_view name) const {
  for (const OfferedMethod& method : methods_)
    if (method.name == name) return &method.handler;
  return nullptr;
}

std::vector<sd_bus_vtable> OfferedMembers::rows(sd_bus_property_get_t get, sd_bus_message_handler_t call,
                                                uint64_t flags) const {
  std::vector<sd_bus_vtable> rows;
  for (const OfferedProperty& property : properties_)
    rows.push_back(SD_BUS_PROPERTY(property.name.c_str(), property.signature.c_str(), get, 0, flags));
  for (const OfferedMethod& method : methods_) {
    sd_bus_vtable row = {};
    row.type = _SD_BUS_VTABLE_METHOD;
    row.flags = SD_BUS_VTABLE_UNPRIVILEGED;
    if (method.secrecy == Secrecy::secret) row.flags |= SD_BUS_VTABLE_SENSITIVE;
    row.x.method.member = method.name.c_str();
    row.x.method.signature = method.arguments.c_str();
    row.x.method.result = method.results.c_str();
    row.x.method.handler = call;
    row.x.method.offset = 0;
    row.x.method.names = method.names.c_str();
    rows.push_back(row);
  }
  return rows;
}

}  // namespace bus
