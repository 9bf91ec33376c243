#include "supervisor/upstream/question.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "supervisor/base/deceiving_text.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/log.h"

namespace upstream {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

tl::unexpected<Error> wrong(const std::string& where, std::string_view problem) {
  return fail(Code::invalid, fmt::format("{}: {}", where, problem));
}

// A text that an answer may repeat, like a choice, cannot be changed: it is refused if it would need cleaning.
Result<std::string> exact_text(const Json& value, const std::string& where, size_t max) {
  if (!value.is_string()) return wrong(where, "not a text");
  const std::string& text = value.get_ref<const std::string&>();
  if (text.size() > max) return wrong(where, fmt::format("longer than {} bytes", max));
  if (shown_text(text, max, Newlines::replace) != text) return wrong(where, "contains characters that cannot be shown");
  return text;
}

// Members that are only shown.
Result<> take_texts(const Json& from, Json& into, const std::string& where) {
  for (const char* key : {"title", "description"}) {
    const auto text = from.find(key);
    if (text == from.end()) continue;
    if (!text->is_string()) return wrong(where, fmt::format("{}: not a text", key));
    into[key] = shown_text(text->get_ref<const std::string&>(), Question::kMaxText, Newlines::replace);
  }
  return {};
}

Result<> take_sizes(const Json& from, Json& into, const std::string& where, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    const auto size = from.find(key);
    if (size == from.end()) continue;
    if (!size->is_number_unsigned() || size->get<uint64_t>() > Question::kMaxContent)
      return wrong(where, fmt::format("{}: not a size", key));
    into[key] = *size;
  }
  return {};
}

Result<> check_keys(const Json& object, const std::string& where, std::initializer_list<std::string_view> existing) {
  for (const auto& [key, value] : object.items())
    if (std::find(existing.begin(), existing.end(), key) == existing.end())
      return wrong(where, fmt::format("'{}' is not allowed here", printable(key, 64)));
  return {};
}

Result<Json> take_choices(const Json& list, const std::string& where) {
  if (!list.is_array() || list.empty() || list.size() > Question::kMaxChoices)
    return wrong(where, fmt::format("not a list of 1 to {} choices", Question::kMaxChoices));
  Json choices = Json::array();
  for (const Json& item : list) {
    TRY(std::string choice, exact_text(item, where, Question::kMaxText));
    choices.push_back(std::move(choice));
  }
  return choices;
}

// [{const, title}]
Result<Json> take_titled(const Json& list, const std::string& where) {
  if (!list.is_array() || list.empty() || list.size() > Question::kMaxChoices)
    return wrong(where, fmt::format("not a list of 1 to {} choices", Question::kMaxChoices));
  Json choices = Json::array();
  for (const Json& item : list) {
    if (!item.is_object() || item.size() != 2 || !item.contains("const") || !item.contains("title"))
      return wrong(where, "a choice is not {const, title}");
    Json choice;
    TRY(choice["const"], exact_text(item["const"], where, Question::kMaxText));
    if (!item["title"].is_string()) return wrong(where, "a title is not a text");
    choice["title"] = shown_text(item["title"].get_ref<const std::string&>(), Question::kMaxText, Newlines::replace);
    choices.push_back(std::move(choice));
  }
  return choices;
}

Result<Json> read_text_field(const Json& from, Json field, const std::string& where, bool& newer) {
  if (from.contains("enum")) {
    CHECKED(check_keys(from, where, {"type", "title", "description", "default", "enum", "enumNames"}));
    TRY(field["enum"], take_choices(from["enum"], where + ".enum"));
    if (!from.contains("enumNames")) return field;
    const Json& names = from["enumNames"];
    if (!names.is_array() || names.size() != field["enum"].size())
      return wrong(where, "enumNames: not one name for each value");
    for (const Json& name : names) {
      if (!name.is_string()) return wrong(where, "enumNames: not a text");
      field["enumNames"].push_back(
          shown_text(name.get_ref<const std::string&>(), Question::kMaxText, Newlines::replace));
    }
    return field;
  }
  if (from.contains("oneOf")) {
    CHECKED(check_keys(from, where, {"type", "title", "description", "default", "oneOf"}));
    TRY(field["oneOf"], take_titled(from["oneOf"], where + ".oneOf"));
    newer = true;
    return field;
  }
  CHECKED(check_keys(from, where,
                     {"type", "title", "description", "default", "minLength", "maxLength", "pattern", "format"}));
  CHECKED(take_sizes(from, field, where, {"minLength", "maxLength"}));
  if (from.contains("pattern")) {
    TRY(field["pattern"], exact_text(from["pattern"], where + ".pattern", Question::kMaxText));
  }
  if (const Json format = from.value("format", Json()); !format.is_null()) {
    const std::set<Json> existing = {"email", "uri", "date", "date-time"};
    if (!existing.contains(format)) return wrong(where, "format: not email, uri, date or date-time");
    field["format"] = format;
  }
  return field;
}

Result<Json> read_list_field(const Json& from, Json field, const std::string& where) {
  CHECKED(check_keys(from, where, {"type", "title", "description", "default", "minItems", "maxItems", "items"}));
  CHECKED(take_sizes(from, field, where, {"minItems", "maxItems"}));
  const Json items = from.value("items", Json());
  if (!items.is_object()) return wrong(where, "items: not an object");
  if (items.contains("enum")) {
    CHECKED(check_keys(items, where + ".items", {"type", "enum"}));
    if (items.value("type", Json("string")) != "string") return wrong(where, "items.type: not string");
    field["items"]["type"] = "string";
    TRY(field["items"]["enum"], take_choices(items["enum"], where + ".items.enum"));
    return field;
  }
  CHECKED(check_keys(items, where + ".items", {"anyOf"}));
  TRY(field["items"]["anyOf"], take_titled(items.value("anyOf", Json()), where + ".items.anyOf"));
  return field;
}

Result<Json> read_number_field(const Json& from, Json field, const std::string& where) {
  CHECKED(check_keys(from, where, {"type", "title", "description", "default", "minimum", "maximum"}));
  for (const char* key : {"minimum", "maximum"}) {
    const auto bound = from.find(key);
    if (bound == from.end()) continue;
    if (!bound->is_number()) return wrong(where, fmt::format("{}: not a number", key));
    field[key] = *bound;
  }
  return field;
}

Result<Json> read_typed_field(const Json& from, Json field, const std::string& where, bool& newer) {
  const Json type = field["type"];
  if (type == "string") return read_text_field(from, std::move(field), where, newer);
  if (type == "number" || type == "integer") return read_number_field(from, std::move(field), where);
  if (type == "boolean") {
    CHECKED(check_keys(from, where, {"type", "title", "description", "default"}));
    return field;
  }
  if (type != "array") return wrong(where, "type: not string, number, integer, boolean or a list of choices");
  newer = true;
  return read_list_field(from, std::move(field), where);
}

Result<Json> read_field(const Json& from, const std::string& where, bool& newer, WorkMeter& meter) {
  if (!from.is_object()) return wrong(where, "not an object");
  Json field = {{"type", from.value("type", Json())}};
  CHECKED(take_texts(from, field, where));
  TRY(field, read_typed_field(from, std::move(field), where, newer));
  const auto check =
      policies::JsonSchema::compile(std::make_shared<const Json>(field), policies::JsonSchema::Unknown::refuse, meter);
  if (!check) return wrong(where, check.error().what);
  const auto preset = from.find("default");
  if (preset == from.end()) return field;
  if (!(*check)->check(*preset, meter)) return wrong(where, "default: does not fit");
  if (preset->is_string()) CHECKED(exact_text(*preset, where + ".default", Question::kMaxText));
  field["default"] = *preset;
  return field;
}

// Members beside type, properties and required, which some libraries write, do not limit an answer. They are left out.
Result<Json> read_schema(const Json& from, bool& newer, WorkMeter& meter) {
  const std::string where = "requestedSchema";
  if (!from.is_object()) return wrong(where, "not an object");
  CHECKED(check_keys(from, where,
                     {"type", "properties", "required", "$schema", "title", "description", "additionalProperties"}));
  if (from.value("additionalProperties", Json(false)).is_structured())
    return wrong(where, "additionalProperties: neither true nor false");
  const Json properties = from.value("properties", Json());
  if (from.value("type", Json()) != "object" || !properties.is_object())
    return wrong(where, "not the schema of an object with properties");
  if (properties.size() > Question::kMaxFields)
    return wrong(where, fmt::format("more than {} fields", Question::kMaxFields));
  Json schema = {{"type", "object"}, {"properties", Json::object()}};
  for (const auto& [name, property] : properties.items()) {
    const std::string path = fmt::format("{}.properties.{}", where, printable(name, 64));
    CHECKED(exact_text(name, path, Question::kMaxName));
    TRY(schema["properties"][name], read_field(property, path, newer, meter));
  }
  const Json required = from.value("required", Json::array());
  if (!required.is_array() || required.size() > Question::kMaxFields)
    return wrong(where, "required: not a list of names");
  for (const Json& name : required) {
    if (!name.is_string() || !properties.contains(name.get_ref<const std::string&>()))
      return wrong(where, "required: names a field that does not exist");
    schema["required"].push_back(name);
  }
  return schema;
}

}  // namespace

std::string shown_text(std::string_view untrusted, size_t max, Newlines newlines) {
  const bool cut = untrusted.size() > max;
  const std::string text = valid_utf8(untrusted.substr(0, whole_utf8_prefix(untrusted.substr(0, max))));
  std::string display_text;
  for (size_t i = 0; i < text.size();) {
    const size_t bytes =
        text[i] == '\n' && newlines == Newlines::keep ? 0 : deceiving_bytes(std::string_view(text).substr(i));
    if (bytes == 0) {
      display_text += text[i++];
      continue;
    }
    display_text += kReplacement;
    i += bytes;
  }
  return cut ? display_text + "..." : display_text;
}

Result<> Question::fits(const Json& content, WorkMeter& meter) const {
  if (dump_json(content).size() > kMaxContent)
    return fail(Code::invalid, fmt::format("the answer is larger than {} bytes", kMaxContent));
  return check->check(content, meter);
}

Result<Question> read_question(const Json& params, WorkMeter& meter) {
  if (!params.is_object()) return wrong("params", "not an object");
  if (params.value("mode", Json("form")) != "form") return wrong("mode", "only the mode \"form\" is supported");
  const auto message = params.find("message");
  if (message == params.end() || !message->is_string()) return wrong("message", "not a text");
  Question question;
  if (message->get_ref<const std::string&>().size() > Question::kMaxMessage)
    return wrong("message", fmt::format("longer than {} bytes", Question::kMaxMessage));
  question.message = shown_text(message->get_ref<const std::string&>(), Question::kMaxMessage, Newlines::keep);
  TRY(question.schema, read_schema(params.value("requestedSchema", Json()), question.wants_2025_11_25, meter));
  Json document = question.schema;
  document["additionalProperties"] = false;
  TRY(question.check, policies::JsonSchema::compile(std::make_shared<const Json>(std::move(document)),
                                                    policies::JsonSchema::Unknown::refuse, meter));
  return question;
}

Task<Result<Question>> read_question_in_turn(Work& work, Work::Owner owner, Json params) {
  std::function<Result<Question>(WorkMeter&)> job = [reserved = std::make_shared<const Json>(std::move(params))](
                                                        WorkMeter& meter) { return read_question(*reserved, meter); };
  auto question = co_await work.run(std::move(owner), 0, std::move(job));
  co_return question;
}

Task<Result<Json>> fitting_content(Work& work, Work::Owner owner, const Question& question, Json content) {
  Question own;  // a copy for the job
  own.check = question.check;
  std::function<Result<Json>(WorkMeter&)> job =
      [own = std::move(own), reserved = std::make_shared<Json>(std::move(content))](WorkMeter& meter) -> Result<Json> {
    CHECKED(own.fits(*reserved, meter));
    return std::move(*reserved);
  };
  auto fitting = co_await work.run(std::move(owner), 0, std::move(job));
  co_return fitting;
}

Json Reply::result() const {
  switch (action) {
    case Action::accept:
      return {{"action", "accept"}, {"content", content}};
    case Action::decline:
      return {{"action", "decline"}};
    case Action::cancel:
      break;
  }
  return {{"action", "cancel"}};
}

}  // namespace upstream
