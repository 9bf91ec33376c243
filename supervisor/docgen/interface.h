// A D-Bus interface as data: what its manual page is written from.
// Source: units/dbus/*.xml, whose comments describe what follows them. Used by: interface_page.cc.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/result.h"

namespace docgen {

struct InterfaceMember {
  enum class Kind { property, method, signal } kind = Kind::property;
  std::string name, text;
  std::string signature;  // "t", of a property; else "(s id, u most) -> (ay bytes)"
};

struct Interface {
  std::string name, text;
  std::vector<InterfaceMember> members;
};

// Understands what these files use of XML, not more. Errors: invalid, naming a member without a description.
Result<Interface> read_interface(std::string_view xml);

}  // namespace docgen
