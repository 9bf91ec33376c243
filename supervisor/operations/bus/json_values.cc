#include "supervisor/operations/bus/json_values.h"

#include <algorithm>

namespace bus {
namespace {

// The D-Bus type of a member; nullptr: it is left out. An empty list is a list of texts.
const char* type_of_member(const Json& value) {
  if (value.is_string()) return "s";
  if (value.is_boolean()) return "b";
  if (value.is_number_unsigned() || (value.is_number_integer() && value.get<int64_t>() >= 0)) return "t";
  if (value.is_object()) return "a{sv}";
  if (!value.is_array()) return nullptr;
  const auto all = [&value](auto fits) { return std::all_of(value.begin(), value.end(), fits); };
  if (all([](const Json& item) { return item.is_string(); })) return "as";
  return all([](const Json& item) { return item.is_object(); }) ? "aa{sv}" : nullptr;
}

int append_member(sd_bus_message* to, const Json& value) {
  if (value.is_string()) return append(to, value.get_ref<const std::string&>());
  if (value.is_boolean()) return append(to, value.get<bool>());
  if (value.is_number()) return append(to, value.get<uint64_t>());
  if (value.is_object()) return append_object(to, value);
  if (!value.empty() && value.front().is_object()) return append_objects(to, value);
  return append(to, value.get<std::vector<std::string>>());
}

}  // namespace

int append_object(sd_bus_message* to, const Json& object) {
  int r = sd_bus_message_open_container(to, 'a', "{sv}");
  for (const auto& [name, value] : object.items()) {
    const char* type = type_of_member(value);
    if (type == nullptr) continue;
    if (r >= 0) r = sd_bus_message_open_container(to, 'e', "sv");
    if (r >= 0) r = append(to, name);
    if (r >= 0) r = sd_bus_message_open_container(to, 'v', type);
    if (r >= 0) r = append_member(to, value);
    if (r >= 0) r = sd_bus_message_close_container(to);
    if (r >= 0) r = sd_bus_message_close_container(to);
  }
  return r < 0 ? r : sd_bus_message_close_container(to);
}

int append_objects(sd_bus_message* to, const Json& list) {
  int r = sd_bus_message_open_container(to, 'a', "a{sv}");
  for (const Json& object : list)
    if (r >= 0) r = append_object(to, object);
  return r < 0 ? r : sd_bus_message_close_container(to);
}

}  // namespace bus
