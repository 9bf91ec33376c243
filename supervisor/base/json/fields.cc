#include "supervisor/base/json/fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "supervisor/base/json/exact_number.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/log.h"

namespace {

constexpr size_t kMaxListed = 1024;

// A value as text for an error message: the first 60 bytes of a string, and no contents of objects and lists.
std::string shown_value(const Json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  std::string text;
  if (value.is_string()) {
    constexpr size_t kMaxListedBytes = 60;
    const auto& full = value.get_ref<const std::string&>();
    const std::string_view part = std::string_view(full).substr(0, kMaxListedBytes);
    append_json_string(text, part.substr(0, whole_utf8_prefix(part)));
    if (full.size() > kMaxListedBytes) text += "...";
    return text;
  }
  text = printable(dump_json(value), 60);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text;
}

// 8 rather than 8.0, and 1000000000000 rather than 1e+12.
std::string shown_value(double number) {
  if (number == std::floor(number) && std::abs(number) < 1e15) return fmt::format("{:.0f}", number);
  return fmt::format("{}", number);
}

}  // namespace

Fields::Fields(const Json& object, std::string path) : object_(object), path_(std::move(path)) {}

std::string Fields::path_of(std::string_view key) const {
  std::string name = printable(key, 64);
  return path_.empty() ? name : path_ + "." + name;
}

bool Fields::has(std::string_view key) const {
  if (!object_.is_object()) return false;
  auto it = object_.find(key);
  return it != object_.end() && !it->is_null();
}

const Json* Fields::find(std::string_view key) {
  read_keys_.emplace(key);
  if (!object_.is_object()) return nullptr;
  auto it = object_.find(key);
  return it == object_.end() || it->is_null() ? nullptr : &*it;
}

Result<const Json*> Fields::need(std::string_view key) {
  const Json* value = find(key);
  if (value) return value;
  if (!object_.is_object()) CHECKED(done());
  return fail(Code::invalid, path_of(key) + ": missing");
}

Result<double> Fields::number(std::string_view key, double min, double max) {
  TRY(const Json* value, need(key));
  if (!is_number(*value)) return fail(Code::invalid, path_of(key) + ": " + shown_value(*value) + " is not a number");
  const double number = nearest_double(*value);
  if (number < min || number > max)
    return fail(Code::invalid, fmt::format("{}: {} is outside {}..{}", path_of(key), shown_value(*value),
                                           shown_value(min), shown_value(max)));
  return number;
}

Result<int64_t> Fields::integer(std::string_view key, int64_t min, int64_t max) {
  TRY(const Json* value, need(key));
  auto outside = [&] {
    return fail(Code::invalid, fmt::format("{}: {} is outside {}..{}", path_of(key), shown_value(*value), min, max));
  };
  int64_t number = 0;
  if (value->is_number_unsigned()) {
    const auto positive = value->get<uint64_t>();
    if (positive > static_cast<uint64_t>(INT64_MAX)) return outside();
    number = static_cast<int64_t>(positive);
  } else if (value->is_number_integer()) {
    number = value->get<int64_t>();
  } else if (value->is_number_float() && value->get<double>() == std::floor(value->get<double>())) {
    // JSON knows one kind of number: 5.0 is an integer (JSON Schema 2020-12, 6.1.1 "type").
    if (std::abs(value->get<double>()) > 9e15) return outside();
    number = static_cast<int64_t>(value->get<double>());
  } else if (is_exact_number(*value) && is_whole_number(*value)) {
    if (nearest_double(*value) != 0) return outside();
  } else {
    return fail(Code::invalid, path_of(key) + ": " + shown_value(*value) + " is not an integer");
  }
  if (number < min || number > max) return outside();
  return number;
}

Result<int64_t> Fields::integer_or(std::string_view key, int64_t min, int64_t max, int64_t fallback) {
  if (!find(key) && object_.is_object()) return fallback;
  return integer(key, min, max);
}

Result<bool> Fields::boolean_or(std::string_view key, bool fallback) {
  if (!find(key) && object_.is_object()) return fallback;
  TRY(const Json* value, need(key));
  if (!value->is_boolean())
    return fail(Code::invalid, path_of(key) + ": " + shown_value(*value) + " is not true or false");
  return value->get<bool>();
}

Result<std::string> Fields::string(std::string_view key, size_t max_bytes) {
  TRY(const Json* value, need(key));
  if (!value->is_string()) return fail(Code::invalid, path_of(key) + ": " + shown_value(*value) + " is not a string");
  const auto& text = value->get_ref<const std::string&>();
  if (text.size() > max_bytes)
    return fail(Code::invalid, fmt::format("{}: {} bytes are more than {}", path_of(key), text.size(), max_bytes));
  return text;
}

Result<std::string> Fields::string_or(std::string_view key, std::string fallback, size_t max_bytes) {
  if (!find(key) && object_.is_object()) return fallback;
  return string(key, max_bytes);
}

Result<std::string> Fields::one_of(std::string_view key, const std::vector<std::string>& allowed,
                                   std::optional<std::string> fallback) {
  if (fallback && !find(key) && object_.is_object()) return *std::move(fallback);
  TRY(std::string text, string(key));
  for (const auto& choice : allowed)
    if (text == choice) return text;
  return fail(Code::invalid,
              fmt::format("{}: {} is not one of: {}", path_of(key), shown_value(Json(text)), fmt::join(allowed, ", ")));
}

Result<std::vector<std::string>> Fields::strings_or(std::string_view key, std::vector<std::string> fallback) {
  if (!find(key) && object_.is_object()) return fallback;
  TRY(const Json* value, need(key));
  if (!value->is_array())
    return fail(Code::invalid, path_of(key) + ": " + shown_value(*value) + " is not a list of strings");
  if (value->size() > kMaxListed)
    return fail(Code::invalid, fmt::format("{}: {} entries are more than {}", path_of(key), value->size(), kMaxListed));
  std::vector<std::string> texts;
  for (const auto& item : *value) {
    const std::string where = fmt::format("{}[{}]", path_of(key), texts.size());
    if (!item.is_string()) return fail(Code::invalid, where + ": " + shown_value(item) + " is not a string");
    if (item.get_ref<const std::string&>().size() > 4096) return fail(Code::invalid, where + ": more than 4096 bytes");
    texts.push_back(item.get<std::string>());
  }
  return texts;
}

Result<> Fields::done() const {
  if (!object_.is_object())
    return fail(Code::invalid, (path_.empty() ? "" : path_ + ": ") + shown_value(object_) + " is not an object");
  for (const auto& [key, value] : object_.items()) {
    if (read_keys_.contains(key)) continue;
    return fail(Code::invalid,
                path_of(key) + ": unknown key; known keys: " + fmt::format("{}", fmt::join(read_keys_, ", ")));
  }
  return {};
}
