// OfferedMembers: properties and methods that rooms bring (BusSource in supervisor/part.h), each beside the code that
// it shows: of the Manager, or of a further interface of its object. D-Bus lets every user call: a method checks its
// caller's rights with the Authority, and a property has no text that quotes the files of administrators. The XML of
// the interface describes every member (units/dbus/), and a test compares. Used by: bus_objects.h. Names are given
// once, while the daemon starts.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "supervisor/operations/bus/caller.h"
#include "supervisor/operations/bus/message.h"

namespace bus {

using PropertyValue = std::variant<std::string, bool, uint32_t, uint64_t, std::vector<std::string>, executions::Counts>;
// Answers one call. The authority outlives the task.
using MethodHandler = std::function<Task<Result<MessagePtr>>(MessagePtr call, Authority& authority)>;

class OfferedMembers {
 public:
  // Types and names of arguments or results: {{"s", "name"}, {"s", "tenant"}}.
  using Parameters = std::vector<std::pair<std::string, std::string>>;
  enum class Secrecy { open, secret };  // secret: the message has a secret, and sd-bus wipes it from memory

  // The members of a further interface, like "org.warder.Warder1.Cluster".
  OfferedMembers& of_interface(const std::string& name) { return interfaces_[name]; }
  const std::map<std::string, OfferedMembers, std::less<>>& interfaces() const { return interfaces_; }

  // `value` is read from memory: it is called for each read, and for the Manager once a second, so that changes are
  // announced.
  template <class Fn>
  void add_property(std::string name, Fn value) {
    const PropertyValue now = value();
    properties_.push_back({std::move(name), signature_of(now), [value] { return PropertyValue(value()); }});
  }
  void add_method(std::string name, Parameters arguments, Parameters results, MethodHandler handler,
                  Secrecy secrecy = Secrecy::open);

  // Values by the name of the property.
  using Values = std::map<std::string, PropertyValue, std::less<>>;
  Values values() const;
  // nullptr: there is no such method.
  const MethodHandler* find_method(std::string_view name) const;
  // Rows for a table of sd-bus, without its begin and end. They refer to this object, and to these two functions.
  // `flags`: of properties, SD_BUS_VTABLE_PROPERTY_*.
  std::vector<sd_bus_vtable> rows(sd_bus_property_get_t get, sd_bus_message_handler_t call, uint64_t flags) const;

 private:
  struct OfferedProperty {
    std::string name, signature;
    std::function<PropertyValue()> value;
  };
  struct OfferedMethod {
    std::string name, arguments, results;  // signatures
    std::string names;                     // of arguments and results, each ended by a zero byte, as sd-bus wants them
    MethodHandler handler;
    Secrecy secrecy;
  };
  static std::string signature_of(const PropertyValue& value);

  std::deque<OfferedProperty> properties_;  // their texts do not move
  std::deque<OfferedMethod> methods_;
  std::map<std::string, OfferedMembers, std::less<>> interfaces_;
};

}  // namespace bus
