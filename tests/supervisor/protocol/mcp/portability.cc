#include "tests/supervisor/protocol/mcp/portability.h"

#include <fmt/format.h>

#include "supervisor/base/json/json_value.h"

namespace mcp_test {
namespace {

constexpr size_t kShownText = 2048;  // Claude Code cuts descriptions and instructions here
constexpr size_t kMaxParameters = 7;
constexpr size_t kMaxNameBytes = 48;  // Cursor allows 60 for server and tool together

}  // namespace

std::vector<std::string> portability_problems(const mcp::ToolDefinition& tool) {
  std::vector<std::string> problems;
  auto add = [&](std::string text) { problems.push_back(tool.name + ": " + std::move(text)); };
  if (tool.name.size() > kMaxNameBytes) add(fmt::format("the name is longer than {} bytes", kMaxNameBytes));
  if (tool.description.empty()) add("has no description");
  if (tool.description.size() > kShownText) add(fmt::format("the description is longer than {}", kShownText));
  if (tool.output_schema && tool.output_schema->value("type", "") != "object") {
    add("older clients reject the whole list if an output schema is not of type object");
  }
  const auto& schema = tool.input_schema;
  if (!schema.is_object() || schema.value("type", "") != "object") {
    add("the input schema is not of type object");
    return problems;
  }
  // Each keyword is refused or flattened by at least one of Claude Code, Cursor and Gemini.
  constexpr const char* kComposition[] = {"$schema", "$ref",  "$defs", "definitions", "anyOf",
                                          "oneOf",   "allOf", "not",   "if"};
  auto check = [&](const Json& part, const std::string& where) {
    for (const char* keyword : kComposition) {
      if (part.contains(keyword)) add(fmt::format("{} uses {}", where, keyword));
    }
  };
  check(schema, "the input schema");
  const auto properties = schema.find("properties");
  if (properties == schema.end()) return problems;
  if (properties->size() > kMaxParameters) add(fmt::format("takes more than {} parameters", kMaxParameters));
  for (const auto& [name, property] : properties->items()) {
    check(property, "'" + name + "'");
    if (property.contains("type") && !property["type"].is_string()) add(fmt::format("'{}' has a list of types", name));
    if (name == "file_path") add("Claude Code replaces the result of a tool with a 'file_path': call it 'path'");
  }
  return problems;
}

}  // namespace mcp_test
