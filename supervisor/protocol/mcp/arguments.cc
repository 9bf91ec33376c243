#include "supervisor/protocol/mcp/arguments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <vector>

#include "supervisor/base/ascii.h"
#include "supervisor/base/json/exact_number.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/log.h"
#include "supervisor/protocol/mcp/jsonrpc.h"

namespace mcp {

namespace {

constexpr size_t kMaxProblems = 5;
constexpr size_t kMaxMeantBytes = 1 << 20;  // a longer JSON text is not converted to a value
constexpr size_t kMaxWordBytes = 64;        // a longer text is not compared with enum values, true and false

bool has_type(const Json& value, std::string_view type) {
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "null") return value.is_null();
  if (type == "number") return is_number(value);
  if (type == "integer") return is_whole_number(value);  // 2.0 is an integer: JSON Schema 2020-12, 6.1.1
  return true;
}

std::vector<std::string> types_of(const Json& schema) {
  std::vector<std::string> types;
  const auto it = schema.find("type");
  if (it == schema.end()) return types;
  if (it->is_string()) types.push_back(it->get<std::string>());
  if (it->is_array()) {
    for (const auto& type : *it) {
      if (type.is_string()) types.push_back(type.get<std::string>());
    }
  }
  return types;
}

bool has_one_type(const Json& value, const std::vector<std::string>& types) {
  return types.empty() || std::any_of(types.begin(), types.end(), [&](const auto& t) { return has_type(value, t); });
}

// The value as the model wrote it, shortened.
std::string shown_value(const Json& value) {
  if (value.is_structured()) return value.is_array() ? "an array" : "an object";
  if (value.is_string()) return "\"" + printable(value.get_ref<const std::string&>(), 60) + "\"";
  return printable(dump_json(value), 60);
}

std::optional<double> number_in(const Json& schema, const char* key) {
  const auto it = schema.find(key);
  if (it == schema.end() || !it->is_number()) return {};
  return it->get<double>();
}

size_t code_points(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

// The problem with one value; empty: no problem.
std::string problem_of(const Json& schema, const Json& value) {
  const auto types = types_of(schema);
  if (!has_one_type(value, types))
    return fmt::format("{} is not of type {}", shown_value(value), fmt::join(types, " or "));
  if (auto allowed = schema.find("enum"); allowed != schema.end() && allowed->is_array()) {
    const std::string wire = dump_json(value);
    std::vector<std::string> names;
    for (const auto& item : *allowed) names.push_back(dump_json(item));
    if (std::find(names.begin(), names.end(), wire) == names.end()) {
      return fmt::format("{} is not one of {}", shown_value(value), fmt::join(names, ", "));
    }
  }
  if (is_number(value)) {
    const double number = nearest_double(value);
    if (auto least = number_in(schema, "minimum"); least && !(number >= *least)) {
      return fmt::format("{} is below the minimum of {}", shown_value(value), *least);
    }
    if (auto max = number_in(schema, "maximum"); max && !(number <= *max)) {
      return fmt::format("{} is above the maximum of {}", shown_value(value), *max);
    }
  }
  if (value.is_string()) {
    const auto length = code_points(value.get_ref<const std::string&>());
    if (auto least = number_in(schema, "minLength"); least && static_cast<double>(length) < *least) {
      return fmt::format("has {} characters, the minimum is {}", length, *least);
    }
    if (auto max = number_in(schema, "maxLength"); max && static_cast<double>(length) > *max) {
      return fmt::format("has {} characters, the maximum is {}", length, *max);
    }
  }
  if (value.is_array()) {
    if (auto max = number_in(schema, "maxItems"); max && static_cast<double>(value.size()) > *max) {
      return fmt::format("has {} items, the maximum is {}", value.size(), *max);
    }
    if (auto items = schema.find("items"); items != schema.end() && items->is_object()) {
      const auto item_types = types_of(*items);
      for (size_t i = 0; i < value.size(); i++) {
        if (!has_one_type(value[i], item_types)) {
          return fmt::format("item {}: {} is not of type {}", i, shown_value(value[i]), fmt::join(item_types, " or "));
        }
      }
    }
  }
  return {};
}

bool is_in_enum(const Json& schema, std::string_view word) {
  const auto allowed = schema.find("enum");
  return allowed != schema.end() && allowed->is_array() &&
         std::any_of(allowed->begin(), allowed->end(),
                     [&](const Json& item) { return item.is_string() && item.get_ref<const std::string&>() == word; });
}

// The list that a text means where the schema wants a list of strings: "email" has one item, "email, phone" two.
std::optional<Json> list_in(const Json& schema, std::string_view text) {
  const auto items = schema.find("items");
  if (items == schema.end() || items->value("type", Json()) != "string" || text.starts_with('[')) return {};
  Json list = Json::array();
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    std::string_view name = text.substr(begin, end - begin);
    while (name.starts_with(' ')) name.remove_prefix(1);
    while (name.ends_with(' ')) name.remove_suffix(1);
    if (!name.empty()) list.push_back(name);
    begin = end + 1;
  }
  if (list.empty()) return {};
  return list;
}

// The value that a text means; nullopt where the meaning is not certain.
std::optional<Json> meaning_of(const Json& schema, const std::map<std::string, std::string, std::less<>>* words,
                               const std::string& text) {
  const std::string small = lower_case(std::string_view(text).substr(0, kMaxWordBytes + 1));
  if (schema.contains("enum")) {
    if (small.size() > kMaxWordBytes || is_in_enum(schema, text)) return {};
    if (is_in_enum(schema, small)) return Json(small);
    if (words == nullptr) return {};
    const auto word = words->find(small);
    if (word == words->end() || !is_in_enum(schema, word->second)) return {};
    return Json(word->second);
  }
  const auto types = types_of(schema);
  if (types.empty() || std::find(types.begin(), types.end(), "string") != types.end()) return {};
  if (text.size() > kMaxMeantBytes) return {};
  auto value = parse_json(small == "true" || small == "false" ? small : text);
  if (value && !value->is_null() && has_one_type(*value, types)) return *std::move(value);
  return types == std::vector<std::string>{"array"} ? list_in(schema, text) : std::nullopt;
}

// The words of a name: "timeoutSeconds" and "timeout_seconds" both give timeout and seconds.
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words(1);
  for (const char c : name) {
    if (!is_lower(c) && !words.back().empty()) words.emplace_back();
    if (is_letter(c)) words.back() += lower_case(c);
  }
  return words;
}

// How similar two names are: the number of letters in words that they share. 0: not similar.
size_t likeness(std::string_view a, std::string_view b) {
  constexpr size_t kMin = 3;  // letters
  size_t shared = 0;
  for (const std::string& word : words_of(a)) {
    for (const std::string& right : words_of(b)) {
      const std::string_view shorter = word.size() < right.size() ? word : right;
      const std::string_view longer = word.size() < right.size() ? right : word;
      if (shorter.size() >= kMin && longer.starts_with(shorter)) shared += shorter.size();
    }
  }
  return shared;
}

// Handlers read a declared number as a double or as 64 bits: a number that neither holds becomes the nearest double.
void round_numbers(const Json& schema, Json& arguments) {
  const auto properties = schema.find("properties");
  if (properties == schema.end() || !properties->is_object()) return;
  for (auto argument = arguments.begin(); argument != arguments.end(); ++argument) {
    if (!is_exact_number(*argument)) continue;
    const auto property = properties->find(argument.key());
    if (property == properties->end() || !property->is_object() || types_of(*property).empty()) continue;
    *argument = nearest_double(*argument);
  }
}

}  // namespace

std::string_view nearest_name(std::string_view name, const std::vector<std::string_view>& names) {
  name = name.substr(0, 128);  // bytes; the text comes from a client and may be long
  std::string_view nearest;
  size_t max = 0;
  for (const std::string_view candidate : names) {
    const size_t alike = likeness(name, candidate);
    if (alike > max) {
      max = alike;
      nearest = candidate;
    }
  }
  return nearest;
}

size_t accept_intended(const Json& schema, const Spellings& spellings, Json& arguments) {
  const auto properties = schema.find("properties");
  if (properties == schema.end() || !properties->is_object()) return 0;
  size_t bytes = 0;
  for (auto argument = arguments.begin(); argument != arguments.end(); ++argument) {
    const auto property = properties->find(argument.key());
    if (!argument->is_string() || property == properties->end() || !property->is_object()) continue;
    const auto words = spellings.find(argument.key());
    auto meaning = meaning_of(*property, words == spellings.end() ? nullptr : &words->second,
                              argument->get_ref<const std::string&>());
    if (!meaning) continue;
    bytes += value_bytes(argument->get_ref<const std::string&>());
    *argument = *std::move(meaning);
  }
  return bytes;
}

std::optional<std::string> find_problems(const Json& schema, const Json& arguments, const Spellings& spellings) {
  std::vector<std::string> problems;
  auto add = [&](std::string_view name, std::string_view problem) {
    problems.push_back(fmt::format("argument '{}': {}", printable(name, 60), problem));
  };

  static const Json kNone = Json::object();
  const auto found = schema.find("properties");
  const Json& properties = found != schema.end() && found->is_object() ? *found : kNone;

  if (auto required = schema.find("required"); required != schema.end() && required->is_array()) {
    for (const auto& name : *required) {
      if (name.is_string() && !arguments.contains(name.get_ref<const std::string&>())) {
        add(name.get_ref<const std::string&>(), "missing, but required");
      }
    }
  }
  static const Spellings::mapped_type kNoNames;
  const auto names = spellings.find("");
  const auto& wrong_names = names == spellings.end() ? kNoNames : names->second;
  const auto extra = schema.find("additionalProperties");
  const bool closed = found != schema.end() && (extra == schema.end() || *extra == false);
  for (const auto& [name, value] : arguments.items()) {
    if (problems.size() >= kMaxProblems) break;
    const auto property = properties.find(name);
    if (property == properties.end()) {
      if (!closed) continue;
      std::vector<std::string_view> existing;
      for (auto it = properties.begin(); it != properties.end(); ++it) existing.push_back(it.key());
      std::string_view nearest = nearest_name(name, existing);
      if (const auto wrong = wrong_names.find(name); wrong != wrong_names.end()) {
        nearest = wrong->second;
        if (!properties.contains(nearest)) {
          add(name, fmt::format("unknown; {}", nearest));
          continue;
        }
      }
      add(name, existing.empty() ? std::string("unknown; this tool takes no arguments")
                : nearest.empty()
                    ? fmt::format("unknown; this tool takes {}", fmt::join(existing, ", "))
                    : fmt::format("unknown; did you mean {}? This tool takes {}", nearest, fmt::join(existing, ", ")));
    } else if (property->is_object()) {
      if (std::string problem = problem_of(*property, value); !problem.empty()) add(name, problem);
    }
  }
  if (problems.empty()) return {};
  return fmt::format("{}", fmt::join(problems, "\n"));
}

CheckedArguments check_arguments(const Json& schema, const Spellings& spellings, Json& arguments) {
  CheckedArguments checked;
  drop_host_arguments(schema, arguments);
  drop_absent(schema, arguments);
  checked.bytes = accept_intended(schema, spellings, arguments);
  checked.problems = find_problems(schema, arguments, spellings);
  round_numbers(schema, arguments);
  return checked;
}

void drop_host_arguments(const Json& schema, Json& arguments) {
  if (!arguments.contains("toolCallId") && !arguments.contains("chatInput")) return;
  const auto properties = schema.find("properties");
  for (const char* name : {"toolCallId", "chatInput", "sessionId", "action"})
    if (properties == schema.end() || !properties->contains(name)) arguments.erase(name);
}

void drop_absent(const Json& schema, Json& arguments) {
  const auto properties = schema.find("properties");
  if (properties == schema.end() || !properties->is_object()) return;
  std::set<std::string_view> required;
  if (const auto names = schema.find("required"); names != schema.end() && names->is_array())
    for (const Json& name : *names)
      if (name.is_string()) required.insert(name.get_ref<const std::string&>());
  for (auto it = arguments.begin(); it != arguments.end();) {
    const auto property = properties->find(it.key());
    const bool is_absent = it->is_null() && property != properties->end() && property->is_object() &&
                           !has_one_type(*it, types_of(*property)) && !required.contains(it.key());
    if (is_absent) {
      it = arguments.erase(it);
    } else {
      ++it;
    }
  }
}

}  // namespace mcp
