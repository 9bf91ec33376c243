#include "policies/schema/canonical_json.h"

#include <map>
#include <string_view>

#include "supervisor/base/json/exact_number.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"

namespace policies {

void append_canonical(std::string& text, const Json& value) {
  if (value.is_array()) {
    text += '[';
    for (const Json& item : value) {
      append_canonical(text, item);
      text += ',';
    }
    text += ']';
  } else if (value.is_object()) {
    std::map<std::string_view, const Json*> members;
    for (const auto& [key, member] : value.items()) members.emplace(key, &member);
    text += '{';
    for (const auto& [key, member] : members) {
      append_json_string(text, key);
      append_canonical(text, *member);
      text += ',';
    }
    text += '}';
  } else if (is_number(value)) {
    text += canonical_number(value);
  } else {
    text += dump_json(value);
  }
}

}  // namespace policies
