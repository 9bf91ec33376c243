#include "supervisor/mcp/arguments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "supervisor/base/json.h"
#include "supervisor/base/log.h"

using nlohmann::json;
using nlohmann::ordered_json;

namespace mcp {

namespace {

constexpr size_t kMostProblems = 5;

bool has_type(const json& value, std::string_view type) {
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "null") return value.is_null();
  if (type == "number") return value.is_number();
  if (type == "integer") {  // 2.0 is an integer: JSON Schema 2020-12, 6.1.1
    return value.is_number_integer() ||
           (value.is_number_float() && std::trunc(value.get<double>()) == value.get<double>());
  }
  return true;
}

std::vector<std::string> types_of(const ordered_json& schema) {
  std::vector<std::string> types;
  const auto found = schema.find("type");
  if (found == schema.end()) return types;
  if (found->is_string()) types.push_back(found->get<std::string>());
  if (found->is_array()) {
    for (const auto& type : *found) {
      if (type.is_string()) types.push_back(type.get<std::string>());
    }
  }
  return types;
}

bool has_one_type(const json& value, const std::vector<std::string>& types) {
  return types.empty() || std::any_of(types.begin(), types.end(), [&](const auto& t) { return has_type(value, t); });
}

// The value as the model wrote it, short.
std::string shown(const json& value) {
  if (value.is_structured()) return value.is_array() ? "an array" : "an object";
  if (value.is_string()) return "\"" + printable(value.get_ref<const std::string&>(), 60) + "\"";
  return dump_json(value);
}

std::optional<double> number_in(const ordered_json& schema, const char* key) {
  const auto found = schema.find(key);
  if (found == schema.end() || !found->is_number()) return {};
  return found->get<double>();
}

size_t code_points(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

// What is wrong with one value, or nothing.
std::string problem_of(const ordered_json& schema, const json& value) {
  const auto types = types_of(schema);
  if (!has_one_type(value, types)) return fmt::format("{} is not of type {}", shown(value), fmt::join(types, " or "));
  if (auto allowed = schema.find("enum"); allowed != schema.end() && allowed->is_array()) {
    const std::string wire = dump_json(value);
    std::vector<std::string> names;
    for (const auto& one : *allowed) names.push_back(dump_json(one));
    if (std::find(names.begin(), names.end(), wire) == names.end()) {
      return fmt::format("{} is not one of {}", shown(value), fmt::join(names, ", "));
    }
  }
  if (value.is_number()) {
    const double number = value.get<double>();
    if (auto least = number_in(schema, "minimum"); least && !(number >= *least)) {
      return fmt::format("{} is below the minimum of {}", shown(value), *least);
    }
    if (auto most = number_in(schema, "maximum"); most && !(number <= *most)) {
      return fmt::format("{} is above the maximum of {}", shown(value), *most);
    }
  }
  if (value.is_string()) {
    const auto length = code_points(value.get_ref<const std::string&>());
    if (auto least = number_in(schema, "minLength"); least && static_cast<double>(length) < *least) {
      return fmt::format("has {} characters, the minimum is {}", length, *least);
    }
    if (auto most = number_in(schema, "maxLength"); most && static_cast<double>(length) > *most) {
      return fmt::format("has {} characters, the maximum is {}", length, *most);
    }
  }
  if (value.is_array()) {
    if (auto most = number_in(schema, "maxItems"); most && static_cast<double>(value.size()) > *most) {
      return fmt::format("has {} items, the maximum is {}", value.size(), *most);
    }
    if (auto items = schema.find("items"); items != schema.end() && items->is_object()) {
      const auto item_types = types_of(*items);
      for (size_t i = 0; i < value.size(); i++) {
        if (!has_one_type(value[i], item_types)) {
          return fmt::format("item {}: {} is not of type {}", i, shown(value[i]), fmt::join(item_types, " or "));
        }
      }
    }
  }
  return {};
}

}  // namespace

std::optional<std::string> find_problems(const ordered_json& schema, const json& arguments) {
  std::vector<std::string> problems;
  auto add = [&](std::string_view name, std::string_view problem) {
    problems.push_back(fmt::format("argument '{}': {}", printable(name, 60), problem));
  };

  static const ordered_json kNone = ordered_json::object();
  const auto found = schema.find("properties");
  const ordered_json& properties = found != schema.end() && found->is_object() ? *found : kNone;

  if (auto required = schema.find("required"); required != schema.end() && required->is_array()) {
    for (const auto& name : *required) {
      if (name.is_string() && !arguments.contains(name.get_ref<const std::string&>())) {
        add(name.get_ref<const std::string&>(), "missing, but required");
      }
    }
  }
  const auto extra = schema.find("additionalProperties");
  const bool closed = found != schema.end() && (extra == schema.end() || *extra == false);
  for (const auto& [name, value] : arguments.items()) {
    if (problems.size() >= kMostProblems) break;
    const auto property = properties.find(name);
    if (property == properties.end()) {
      if (!closed) continue;
      std::vector<std::string> known;
      for (const auto& [key, unused] : properties.items()) known.push_back(key);
      add(name, known.empty() ? std::string("unknown; this tool takes no arguments")
                              : fmt::format("unknown; this tool takes {}", fmt::join(known, ", ")));
    } else if (property->is_object()) {
      if (std::string problem = problem_of(*property, value); !problem.empty()) add(name, problem);
    }
  }
  if (problems.empty()) return {};
  return fmt::format("{}", fmt::join(problems, "\n"));
}

void drop_absent(const ordered_json& schema, json& arguments) {
  const auto properties = schema.find("properties");
  if (properties == schema.end() || !properties->is_object()) return;
  const auto required = schema.find("required");
  for (auto it = arguments.begin(); it != arguments.end();) {
    const auto property = properties->find(it.key());
    const bool is_absent =
        it->is_null() && property != properties->end() && property->is_object() &&
        !has_one_type(*it, types_of(*property)) &&
        (required == schema.end() || std::find(required->begin(), required->end(), it.key()) == required->end());
    if (is_absent) {
      it = arguments.erase(it);
    } else {
      ++it;
    }
  }
}

}  // namespace mcp
