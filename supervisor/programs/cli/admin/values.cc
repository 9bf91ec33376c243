// Reads the values of a D-Bus message as JSON: a dictionary becomes an object, a structure or array becomes an array,
// and an array of bytes becomes a string.
#include "supervisor/programs/cli/admin/values.h"

#include <cstdio>
#include <cstring>

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_text.h"
#include "supervisor/programs/cli/admin/bus_client.h"

namespace admin {
namespace {

constexpr int kDeepest = 16;

template <class T>
int read_as(sd_bus_message* message, char type, Json& value) {
  T read{};
  const int r = sd_bus_message_read_basic(message, type, &read);
  value = read;
  return r;
}

int read_value(sd_bus_message* message, Json& value, int depth);

int read_text(sd_bus_message* message, char type, Json& value) {
  const char* text = nullptr;
  const int r = sd_bus_message_read_basic(message, type, &text);
  if (r > 0) value = valid_utf8(text);
  return r;
}

int read_bytes(sd_bus_message* message, Json& value) {
  const void* bytes = nullptr;
  size_t size = 0;
  const int r = sd_bus_message_read_array(message, 'y', &bytes, &size);
  value = r < 0 ? std::string() : std::string(static_cast<const char*>(bytes), size);
  return r;
}

int read_container(sd_bus_message* message, char type, const char* contents, Json& value, int depth) {
  const bool dictionary = type == 'a' && contents[0] == '{';
  value = dictionary ? Json::object() : Json::array();
  int r = sd_bus_message_enter_container(message, type, contents);
  while (r >= 0 && sd_bus_message_at_end(message, 0) == 0) {
    Json item;
    if (dictionary) {
      Json key;
      r = sd_bus_message_enter_container(message, 'e', std::string(contents + 1, std::strlen(contents) - 2).c_str());
      if (r >= 0) r = read_value(message, key, depth + 1);
      if (r >= 0) r = read_value(message, item, depth + 1);
      if (r >= 0) r = sd_bus_message_exit_container(message);
      if (r >= 0) value[key.is_string() ? key.get<std::string>() : key.dump()] = std::move(item);
    } else {
      r = read_value(message, item, depth + 1);
      if (r >= 0) value.push_back(std::move(item));
    }
  }
  return r < 0 ? r : sd_bus_message_exit_container(message);
}

int read_value(sd_bus_message* message, Json& value, int depth) {
  if (depth > kDeepest) return -EBADMSG;
  char type = 0;
  const char* contents = nullptr;
  if (int r = sd_bus_message_peek_type(message, &type, &contents); r <= 0) return r < 0 ? r : -EBADMSG;
  switch (type) {
    case 's':
    case 'o':
    case 'g':
      return read_text(message, type, value);
    case 't':
      return read_as<uint64_t>(message, type, value);
    case 'x':
      return read_as<int64_t>(message, type, value);
    case 'u':
      return read_as<uint32_t>(message, type, value);
    case 'i':
      return read_as<int32_t>(message, type, value);
    case 'd':
      return read_as<double>(message, type, value);
    case 'y':
      return read_as<uint8_t>(message, type, value);
    case 'b': {
      const int r = read_as<int>(message, type, value);
      value = value != 0;
      return r;
    }
    case 'a':
      if (std::string_view(contents) == "y") return read_bytes(message, value);
      return read_container(message, type, contents, value, depth);
    case 'r':
      return read_container(message, type, contents, value, depth);
    case 'v': {
      int r = sd_bus_message_enter_container(message, type, contents);
      if (r >= 0) r = read_value(message, value, depth + 1);
      return r < 0 ? r : sd_bus_message_exit_container(message);
    }
    default:
      return -EBADMSG;
  }
}

const Json kNothing;

}  // namespace

const Json& element(const Json& of, size_t index) { return of.is_array() && index < of.size() ? of[index] : kNothing; }

uint64_t number(const Json& value) { return value.is_number_unsigned() ? value.get<uint64_t>() : 0; }

std::optional<uint64_t> known_number(const Json& of, const char* key) {
  const Json& value = member(of, key);
  if (!value.is_number_unsigned() || value.get<uint64_t>() == UINT64_MAX) return std::nullopt;
  return value.get<uint64_t>();
}

std::string text(const Json& value) { return value.is_string() ? value.get<std::string>() : std::string(); }

void print_json(const Json& value) {
  std::printf("%s\n", dump_json_ascii(value).c_str());
  std::fflush(stdout);
}

Result<std::vector<Json>> read_values(sd_bus_message* message) {
  std::vector<Json> values;
  while (sd_bus_message_at_end(message, 1) == 0) {
    Json value;
    if (int r = read_value(message, value, 0); r < 0) return fail_errno(-r, "read the answer of warderd");
    values.push_back(std::move(value));
  }
  return values;
}

std::string client_text(const Json& of) {
  if (std::string principal = text(of, "Principal"); !principal.empty()) return principal;
  return member(of, "UID").is_null() ? "-" : "uid:" + std::to_string(number(of, "UID"));
}

}  // namespace admin
