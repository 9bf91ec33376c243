// indented_json(): JSON on several lines, for files that people read and edit. Used by: supervisor/cli/.
#pragma once
#include <string>

#include "supervisor/base/json_value.h"

// Two blanks for each level, and a line end behind the last line. Bytes that are not UTF-8 become U+FFFD. It recurses:
// only for values of our own, or of a bounded depth (parse_json).
inline std::string indented_json(const Json& value) {
  return value.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}
