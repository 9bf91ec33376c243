// Interface: a D-Bus interface as data, for its manual page.
// Source: units/dbus/*.xml; a comment there describes the element after the comment. Used by: interface_page.cc.
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

// Reads only the parts of XML that these files use. Errors: invalid, naming a member without a description.
Result<Interface> read_interface(std::string_view xml);

}  // namespace docgen
