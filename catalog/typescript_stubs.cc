#include <fmt/format.h>

#include <algorithm>

#include "catalog/doc_comment.h"
#include "catalog/stubs.h"
#include "supervisor/base/ascii.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"

namespace catalog {
namespace {

constexpr int kDepth = 6;
constexpr size_t kMaxDescription = 500;

bool is_name(std::string_view name) {
  const auto fits = [](char c) { return is_word(c) || c == '$'; };
  return !name.empty() && !is_digit(name[0]) && std::all_of(name.begin(), name.end(), fits);
}

std::string type_of(const Type& type, int depth, size_t indent);

// The comment above a property: its description and its default.
std::string about(const Property& property, size_t indent) {
  std::string text = plain_text(property.description, kMaxDescription);
  if (!property.standard.empty())
    text += (text.empty() ? "@default " : "\n@default ") + plain_text(property.standard, kMaxDescription);
  if (text.empty()) return {};
  const std::string margin(indent, ' ');
  if (text.find('\n') == text.npos) return fmt::format("{}/** {} */\n", margin, doc_comment(text));
  return fmt::format("{0}/**\n{0} * {1}\n{0} */\n", margin, doc_comment(text, indent));
}

std::string object_type(const Type& type, int depth, size_t indent) {
  if (type.properties.empty()) return "Record<string, any>";
  std::string text = "{\n";
  for (const Property& property : type.properties) {
    text += about(property, indent + 2) + std::string(indent + 2, ' ');
    text += is_name(property.name) ? property.name : string_literal(property.name);
    text += property.need == Property::Need::required ? ": " : "?: ";
    text += type_of(property.type, depth - 1, indent + 2) + ";\n";
  }
  return text + std::string(indent, ' ') + "}";
}

std::string union_of(const std::vector<std::string>& parts) {
  return parts.empty() ? "any" : fmt::format("{}", fmt::join(parts, " | "));
}

std::string type_of(const Type& type, int depth, size_t indent) {
  if (depth == 0) return "any";
  std::vector<std::string> parts;
  switch (type.kind) {
    case Type::Kind::any:
      return "any";
    case Type::Kind::null:
      return "null";
    case Type::Kind::boolean:
      return "boolean";
    case Type::Kind::integer:
    case Type::Kind::number:
      return "number";
    case Type::Kind::string:
      return "string";
    case Type::Kind::choice:
      return union_of(type.choices);
    case Type::Kind::either:
      for (const Type& part : type.parts) parts.push_back(type_of(part, depth, indent));
      return union_of(parts);
    case Type::Kind::array:
      return fmt::format("Array<{}>", type.parts.empty() ? "any" : type_of(type.parts.front(), depth - 1, indent));
    case Type::Kind::object:
      return object_type(type, depth, indent);
  }
  return "any";
}

// The parameter and the result of a function: "(input: {...}): Promise<...>".
std::string call_of(const StubFunction& function, size_t indent) {
  bool is_needed = false;
  for (const Property& property : function.input.properties) is_needed |= property.need == Property::Need::required;
  const std::string input = function.has_input ? type_of(function.input, kDepth, indent) : "Record<string, any>";
  return fmt::format("(input{}: {}): Promise<{}>;\n", is_needed ? "" : "?", input,
                     type_of(function.output, kDepth, indent));
}

std::string comment_of(const StubModule& module, const StubFunction& function, size_t indent) {
  std::string text = function.description.empty() ? plain_text(module.tool, 200) : function.description;
  if (!function.returns.empty()) text += "\n@returns " + function.returns;
  while (text.ends_with(' ')) text.pop_back();
  return fmt::format("{0}/**\n{0} * {1}\n{0} */\n", std::string(indent, ' '), doc_comment(text, indent));
}

}  // namespace

std::string typescript_server(std::string_view server, const std::vector<StubModule>& modules) {
  std::string text = fmt::format("/**\n * {}: {} tools\n */\n", doc_comment(plain_text(server, 200)), modules.size());
  for (const StubModule& module : modules) {
    const bool is_one = module.functions.size() == 1 && module.functions.front().name == module.tool;
    text += "\n";
    if (is_one) {
      const StubFunction& function = module.functions.front();
      text += comment_of(module, function, 0) + "export function " + module.module + call_of(function, 0);
      continue;
    }
    UsedNames names;
    text += "export const " + module.module + ": {\n";
    for (const StubFunction& function : module.functions)
      text += comment_of(module, function, 2) + "  " + identifier(function.name, names) + call_of(function, 2);
    text += "};\n";
  }
  return text;
}

}  // namespace catalog
