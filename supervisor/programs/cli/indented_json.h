// indented_json(): JSON on several lines, for files that people read and edit. Used by: supervisor/programs/cli/.
#pragma once
#include <string>

#include "supervisor/base/json/exact_number.h"
#include "supervisor/base/json/json_value.h"

inline void append_indented(std::string& out, const Json& value, size_t depth) {
  const auto line = [&out](size_t level) { out += "\n" + std::string(2 * level, ' '); };
  const auto scalar = [](const Json& item) { return item.dump(-1, ' ', false, Json::error_handler_t::replace); };
  if (!value.is_structured() || value.empty()) {
    out += is_exact_number(value) ? exact_digits(value) : scalar(value);
    return;
  }
  out += value.is_object() ? '{' : '[';
  for (auto member = value.begin(); member != value.end(); ++member) {
    if (member != value.begin()) out += ',';
    line(depth + 1);
    if (value.is_object()) out += scalar(member.key()) + ": ";
    append_indented(out, *member, depth + 1);
  }
  line(depth);
  out += value.is_object() ? '}' : ']';
}

// Two blanks for each level, and a line end behind the last line. Bytes that are not UTF-8 become U+FFFD. It recurses:
// only for values of our own, or of a bounded depth (parse_json).
inline std::string indented_json(const Json& value) {
  std::string out;
  append_indented(out, value, 0);
  return out + "\n";
}
