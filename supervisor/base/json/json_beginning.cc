#include "supervisor/base/json/json_beginning.h"

#include <string_view>

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"

namespace {

void append_beginning(std::string& text, const Json& value, size_t max) {
  if (value.is_array()) {
    text += '[';
    for (auto item = value.begin(); item != value.end() && text.size() <= max; ++item) {
      if (item != value.begin()) text += ',';
      append_beginning(text, *item, max);
    }
    text += ']';
  } else if (value.is_object()) {
    text += '{';
    for (auto member = value.begin(); member != value.end() && text.size() <= max; ++member) {
      if (member != value.begin()) text += ',';
      append_json_string(text, std::string_view(member.key()).substr(0, max));
      text += ':';
      append_beginning(text, *member, max);
    }
    text += '}';
  } else if (value.is_string()) {
    append_json_string(text, std::string_view(value.get_ref<const std::string&>()).substr(0, max));
  } else {
    text += dump_json(value);
  }
}

}  // namespace

std::string json_beginning(const Json& value, size_t max) {
  std::string text;
  append_beginning(text, value, max);
  return text;
}
