#include "supervisor/base/json/json_beginning.h"

#include <string_view>

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"

namespace {

void append_beginning(std::string& text, const Json& value, size_t most) {
  if (value.is_array()) {
    text += '[';
    for (auto item = value.begin(); item != value.end() && text.size() <= most; ++item) {
      if (item != value.begin()) text += ',';
      append_beginning(text, *item, most);
    }
    text += ']';
  } else if (value.is_object()) {
    text += '{';
    for (auto member = value.begin(); member != value.end() && text.size() <= most; ++member) {
      if (member != value.begin()) text += ',';
      append_json_string(text, std::string_view(member.key()).substr(0, most));
      text += ':';
      append_beginning(text, *member, most);
    }
    text += '}';
  } else if (value.is_string()) {
    append_json_string(text, std::string_view(value.get_ref<const std::string&>()).substr(0, most));
  } else {
    text += dump_json(value);
  }
}

}  // namespace

std::string json_beginning(const Json& value, size_t most) {
  std::string text;
  append_beginning(text, value, most);
  return text;
}
