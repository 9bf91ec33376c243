#include "supervisor/agent/json_parts.h"

namespace agent {

const Json& part_of(const Json& object, const char* key) {
  static const Json kNone;
  if (!object.is_object()) return kNone;
  const auto found = object.find(key);
  return found == object.end() ? kNone : *found;
}

std::string text_part(const Json& object, const char* key) {
  const Json& value = part_of(object, key);
  return value.is_string() ? value.get<std::string>() : std::string();
}

uint64_t count_part(const Json& object, const char* key) {
  const Json& value = part_of(object, key);
  return value.is_number_unsigned() ? value.get<uint64_t>() : 0;
}

}  // namespace agent
