#include "supervisor/bridge/result_value.h"

#include <algorithm>

#include "supervisor/base/json.h"

using nlohmann::json;

namespace bridge {
namespace {

constexpr size_t kMaxMessage = 8192;
constexpr size_t kMaxSteps = 32;

std::string type_of(const json& block) {
  const json type = block.is_object() ? block.value("type", json()) : json();
  return type.is_string() ? type.get<std::string>() : std::string();
}

std::string text_of(const json& block) {
  const json text = block.value("text", json());
  return text.is_string() ? text.get<std::string>() : std::string();
}

// Objects and lists only: a text that reads "42" or "true" is a text.
json value_of_text(std::string text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first != text.npos && (text[first] == '{' || text[first] == '[')) {
    auto parsed = parse_json(text);
    if (parsed) return *std::move(parsed);
  }
  return text;
}

json value_of_block(const json& block) {
  const std::string type = type_of(block);
  if (type == "text") return value_of_text(text_of(block));
  if (type != "resource" || !block.contains("resource") || !block["resource"].is_object()) return block;
  json resource = block["resource"];
  resource["type"] = "resource";
  return resource;
}

json value_of_blocks(const json& content) {
  if (!content.is_array() || content.empty()) return nullptr;
  if (content.size() == 1) return value_of_block(content[0]);
  json all = json::array();
  bool only_texts = true;
  for (const json& block : content) {
    all.push_back(value_of_block(block));
    only_texts &= all.back().is_string();
  }
  if (!only_texts) return all;
  std::string joined;
  for (const json& text : all) joined += (joined.empty() ? "" : "\n") + text.get<std::string>();
  return joined;
}

std::string cut(std::string text) {
  if (text.size() <= kMaxMessage) return text;
  text.resize(whole_utf8_prefix(std::string_view(text).substr(0, kMaxMessage)));
  return text + "...";
}

void keep_path(const json& value, const std::vector<std::string>& steps, size_t at, json& kept) {
  if (value.is_array()) {
    if (!kept.is_array()) kept = json::array();
    for (size_t i = 0; i < value.size(); i++) {
      if (i == kept.size()) kept.push_back(nullptr);
      keep_path(value[i], steps, at, kept[i]);
    }
    return;
  }
  if (at == steps.size()) {
    kept = value;
    return;
  }
  if (!value.is_object()) return;
  if (!kept.is_object()) kept = json::object();
  auto member = value.find(steps[at]);
  if (member == value.end()) return;
  if (at + 1 == steps.size()) {
    kept[steps[at]] = *member;
  } else {
    keep_path(*member, steps, at + 1, kept[steps[at]]);
  }
}

}  // namespace

ToolValue value_of(Answer answer) {
  ToolValue told;
  if (answer.is_error) {
    told.failure = {{"code", answer.code}, {"message", cut(std::move(answer.message))}};
    if (!answer.data.is_null()) told.failure["data"] = std::move(answer.data);
    return told;
  }
  json& result = answer.result;
  if (result.value("resultType", json()) == "input_required") {
    told.failure = {{"code", "input_required"}, {"message", "the tool asks its user, and nobody can be asked here"}};
    return told;
  }
  json structured = result.value("structuredContent", json());
  const json content = result.value("content", json());
  if (result.value("isError", json()) == true) {
    std::string message;
    if (content.is_array())
      for (const json& block : content)
        if (type_of(block) == "text") message += (message.empty() ? "" : "\n") + text_of(block);
    told.failure = {{"code", "tool_error"}, {"message", message.empty() ? "the tool failed" : cut(std::move(message))}};
    if (!structured.is_null()) told.failure["data"] = std::move(structured);
    return told;
  }
  told.value = structured.is_null() ? value_of_blocks(content) : std::move(structured);
  return told;
}

json select(const json& value, const std::vector<std::string>& paths) {
  json kept;
  for (const auto& path : paths) {
    std::vector<std::string> steps;
    for (size_t at = 0; at <= path.size() && steps.size() < kMaxSteps;) {
      const size_t dot = std::min(path.find('.', at), path.size());
      steps.push_back(path.substr(at, dot - at));
      at = dot + 1;
    }
    keep_path(value, steps, 0, kept);
  }
  return kept;
}

}  // namespace bridge
