#include <fmt/format.h>
#include <fmt/ranges.h>

#include "supervisor/base/fields.h"
#include "supervisor/base/json.h"
#include "supervisor/base/log.h"
#include "supervisor/tools/pii_tools.h"
#include "supervisor/tools/workspace_answers.h"

using nlohmann::json;
using nlohmann::ordered_json;

namespace tools {
namespace {

constexpr size_t kMaxText = 1 << 20;  // hostile text takes half a second of the loop, other text 5 ms

struct Order {
  std::string text;
  policies::SanitizeOptions options;
};

Result<Order> read_order(const policies::PiiDetector& detector, const json& arguments) {
  Fields in(arguments, "sanitize_pii");
  Order order;
  TRY(order.text, in.string("text", kMaxText));
  TRY(order.options.types, in.strings_or("types", {}));
  CHECKED(in.done());
  for (const std::string& type : order.options.types) {
    if (!detector.looks_for(type))
      return fail(Code::invalid,
                  fmt::format("types: '{}' is none of {}", printable(type, 40), fmt::join(detector.known(), ", ")));
  }
  return order;
}

}  // namespace

mcp::ToolDefinition sanitize_pii_definition() {
  mcp::ToolDefinition tool;
  tool.name = "sanitize_pii";
  tool.description = "Replace personal data and secrets by tokens such as [EMAIL_k3v7qd].";
  tool.input_schema = ordered_json::parse(R"({
    "type": "object",
    "properties": {
      "text": {"type": "string"},
      "types": {"type": "array", "items": {"type": "string"}}
    },
    "required": ["text"]
  })");
  tool.output_schema = ordered_json{{"type", "object"}};
  tool.annotations.read_only = true;  // what the vault keeps of it changes nothing for anybody else
  tool.annotations.destructive = false;
  tool.annotations.idempotent = true;
  tool.annotations.open_world = false;
  return tool;
}

mcp::ToolResult sanitize_pii(policies::PiiVault& vault, const policies::PiiRules& rules, const json& arguments) {
  auto order = read_order(*rules.detector, arguments);
  if (!order) return failure(order.error());
  auto clean = policies::sanitize(order->text, *rules.detector, vault, order->options);
  if (!clean) return failure(clean.error());
  if (auto settled = vault.settle(); !settled) return failure(settled.error());
  ordered_json types = ordered_json::array();
  for (std::string type : clean->types) {
    for (char& c : type) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;  // as the tokens say it
    types.push_back(std::move(type));
  }
  ordered_json answer = {{"sanitized_text", valid_utf8(clean->text)},
                         {"pii_found", clean->tokens.size()},
                         {"pii_types", std::move(types)}};
  return mcp::ToolResult::data(std::move(answer));
}

}  // namespace tools
