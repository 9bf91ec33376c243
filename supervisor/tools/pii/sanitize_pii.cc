#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "supervisor/base/ascii.h"
#include "supervisor/base/json/fields.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/log.h"
#include "supervisor/tools/pii/pii_tools.h"

namespace tools {
namespace {

// Bytes. A reply has at most 8 MiB for both copies: the structured content, and the text block, escaped once more.
constexpr size_t kMaxAnswer = 8'000'000;

// The least number of bytes of both copies of a text: one in a JSON string, one in JSON inside a JSON string.
size_t answer_bytes(std::string_view text) {
  size_t bytes = 2 * text.size();
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      bytes += 4;  // as \" and as \\\"
    } else if (c == '\n' || c == '\t' || c == '\r') {
      bytes += 3;  // as \n and as \\n
    }
  }
  return bytes;
}

struct SanitizeOrder {
  std::string text;
  policies::SanitizeOptions options;
};

// The detector's name of a type that a model wrote as "EMAIL", "credit-card" or "phones".
std::string type_of(const policies::PiiDetector& detector, std::string_view name) {
  std::string type;
  for (const char c : name) {
    if (c == ' ' && type.empty()) continue;
    type += c == '-' || c == ' ' ? '_' : lower_case(c);
  }
  while (!type.empty() && type.back() == '_') type.pop_back();
  if (!detector.looks_for(type) && type.ends_with('s') && detector.looks_for(type.substr(0, type.size() - 1)))
    type.pop_back();
  return type;
}

// `types` is one type, several types with commas in one text, or a list.
Result<std::vector<std::string>> read_types(Fields& in, const Json& arguments) {
  const auto it = arguments.find("types");
  if (it == arguments.end() || !it->is_string()) return in.strings_or("types", {});
  TRY(const std::string text, in.string("types", 1000));
  std::vector<std::string> types;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    if (end > begin) types.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return types;
}

Result<SanitizeOrder> read_sanitize_order(const policies::PiiDetector& detector, const Json& arguments) {
  Fields in(arguments, "sanitize_pii");
  SanitizeOrder order;
  TRY(order.text, in.string("text", kMaxAnswer));
  if (const size_t bytes = answer_bytes(order.text); bytes > kMaxAnswer)
    return fail(
        Code::invalid,
        fmt::format("text: {} bytes make an answer of {} bytes, the limit is {}", order.text.size(), bytes, kMaxAnswer),
        fmt::format("send the text in parts of at most {} bytes", kMaxAnswer / 4));
  TRY(order.options.types, read_types(in, arguments));
  CHECKED(in.done());
  for (std::string& type : order.options.types) {
    type = type_of(detector, type);
    if (!detector.looks_for(type))
      return fail(Code::invalid,
                  fmt::format("types: '{}' is not one of {}", printable(type, 40), fmt::join(detector.known(), ", ")));
  }
  return order;
}

}  // namespace

mcp::ToolDefinition sanitize_pii_definition() {
  mcp::ToolDefinition tool;
  tool.name = "sanitize_pii";
  tool.description = "Replace personal data and secrets by tokens.";
  tool.input_schema = Json::parse(R"({
    "type": "object",
    "properties": {
      "text": {"type": "string"},
      "types": {"type": "array", "items": {"type": "string"}}
    },
    "required": ["text"]
  })");
  tool.annotations.read_only = true;  // the vault's new tokens have no effect for other callers
  tool.annotations.destructive = false;
  tool.annotations.idempotent = true;
  return tool;
}

Result<Json> sanitize_pii(policies::PiiVault& vault, const policies::PiiRules& rules, const Json& arguments,
                          WorkMeter& meter) {
  TRY(const SanitizeOrder order, read_sanitize_order(*rules.detector, arguments));
  TRY(const policies::Sanitized clean, policies::sanitize(order.text, *rules.detector, vault, meter, order.options));
  Json types = Json::array();
  for (const std::string& type : clean.types) types.push_back(upper_case(type));  // as in tokens
  Json answer = {
      {"sanitized_text", valid_utf8(clean.text)}, {"pii_found", clean.tokens.size()}, {"pii_types", std::move(types)}};
  return answer;
}

}  // namespace tools
