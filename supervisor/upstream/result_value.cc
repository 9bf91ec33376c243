#include "supervisor/upstream/result_value.h"

#include <algorithm>
#include <optional>

#include "supervisor/base/ascii.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/value_bytes.h"
#include "supervisor/upstream/wrapped_result.h"

namespace upstream {
namespace {

constexpr size_t kMaxErrorText = 8192;
constexpr size_t kCountTextFrom = 64 << 10;  // bytes; shorter texts cannot hold too many values

std::string type_of(const Json& block) {
  const Json type = block.is_object() ? block.value("type", Json()) : Json();
  return type.is_string() ? type.get<std::string>() : std::string();
}

// Moves the member `key` out of `object`, because results are large.
Json take_member(Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found == object.end() ? Json() : std::move(*found);
}

std::string text_of_block(Json& block) {
  Json text = take_member(block, "text");
  return text.is_string() ? std::move(text.get_ref<std::string&>()) : std::string();
}

// A number, a boolean or null that reads exactly as JSON writes it, without loss of digits.
bool is_plain_scalar(std::string_view text) {
  constexpr size_t kMaxDigits = 15;  // digits that a double holds exactly
  constexpr size_t kMaxBytes = 24;
  if (text == "true" || text == "false" || text == "null") return true;
  if (text.size() > kMaxBytes) return false;
  const size_t digits = static_cast<size_t>(std::count_if(text.begin(), text.end(), is_digit));
  return digits > 0 && digits <= kMaxDigits && text.find_first_not_of("-.0123456789") == text.npos;
}

std::optional<Json> scalar_of_text(std::string_view text) {
  if (!is_plain_scalar(text)) return {};
  auto parsed = parse_json(text);
  if (!parsed || dump_json(*parsed) != text) return {};
  return *std::move(parsed);
}

Json value_of_text(std::string text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  const bool is_structure = first != text.npos && (text[first] == '{' || text[first] == '[');
  // A text of millions of values is not parsed.
  const bool is_small = text.size() <= kCountTextFrom || value_bytes(text) <= kMaxValueBytes + 2 * text.size();
  if (is_structure && is_small) {
    auto parsed = parse_json(text);
    if (parsed) return *std::move(parsed);
  }
  return text;
}

Json value_of_block(Json& block) {
  const std::string type = type_of(block);
  if (type == "text") return value_of_text(text_of_block(block));
  if (type != "resource" || !block.contains("resource") || !block["resource"].is_object()) return std::move(block);
  Json resource = take_member(block, "resource");
  resource["type"] = "resource";
  return resource;
}

Json value_of_blocks(Json content) {
  if (!content.is_array() || content.empty()) return nullptr;
  if (content.size() == 1) {
    Json value = value_of_block(content[0]);
    if (!value.is_string()) return value;
    return scalar_of_text(value.get_ref<const std::string&>()).value_or(std::move(value));
  }
  Json all = Json::array();
  bool only_texts = true;
  for (Json& block : content) {
    all.push_back(value_of_block(block));
    only_texts &= all.back().is_string();
  }
  if (!only_texts) return all;
  std::string joined;
  for (const Json& text : all) joined += (joined.empty() ? "" : "\n") + text.get<std::string>();
  return joined;
}

std::string cut(std::string text) {
  if (text.size() <= kMaxErrorText) return text;
  text.resize(whole_utf8_prefix(std::string_view(text).substr(0, kMaxErrorText)));
  return text + "...";
}

}  // namespace

ToolValue value_of(ServerAnswer answer, std::string_view tool, const Json* output_schema) {
  ToolValue tool_value;
  if (answer.is_error) {
    tool_value.failure = {{"code", answer.code}, {"message", cut(std::move(answer.message))}};
    if (!answer.data.is_null()) tool_value.failure["data"] = std::move(answer.data);
    return tool_value;
  }
  Json& result = answer.result;
  if (result.value("resultType", Json()) == "input_required") {
    tool_value.failure = {{"code", "input_required"},
                          {"message", "the tool asks a question, and no person can be asked here"}};
    return tool_value;
  }
  Json structured = take_member(result, "structuredContent");
  Json content = take_member(result, "content");
  if (result.value("isError", Json()) == true) {
    std::string message;
    if (content.is_array())
      for (Json& block : content)
        if (type_of(block) == "text") message += (message.empty() ? "" : "\n") + text_of_block(block);
    tool_value.failure = {{"code", "tool_error"},
                          {"message", message.empty() ? "the tool failed" : cut(std::move(message))}};
    if (!structured.is_null()) tool_value.failure["data"] = std::move(structured);
    return tool_value;
  }
  tool_value.value = structured.is_null() ? value_of_blocks(std::move(content))
                                          : unwrapped(std::move(structured), result, tool, output_schema);
  return tool_value;
}

}  // namespace upstream
