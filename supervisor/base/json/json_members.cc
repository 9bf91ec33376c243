#include "supervisor/base/json/json_members.h"

#include "supervisor/base/json/json_value.h"

const Json* find_member(const Json& object, std::string_view key) {
  const auto it = object.find(key);  // of a value that is no object: end()
  return it == object.end() ? nullptr : &*it;
}

const Json& member(const Json& object, std::string_view key) {
  static const Json kNull;
  const Json* found = find_member(object, key);
  return found ? *found : kNull;
}

std::string text_member(const Json& object, std::string_view key) {
  const Json* found = find_member(object, key);
  return found && found->is_string() ? found->get<std::string>() : std::string();
}

uint64_t number_member(const Json& object, std::string_view key) {
  const Json* found = find_member(object, key);
  if (!found || !found->is_number_integer()) return 0;  // one that was made here, and not read, is signed
  return !found->is_number_unsigned() && found->get<int64_t>() < 0 ? 0 : found->get<uint64_t>();
}
