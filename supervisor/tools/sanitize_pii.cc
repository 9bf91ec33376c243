#include "supervisor/base/fields.h"
#include "supervisor/base/json.h"
#include "supervisor/tools/pii_tools.h"
#include "supervisor/tools/workspace_answers.h"

using nlohmann::json;
using nlohmann::ordered_json;

namespace tools {
namespace {

constexpr size_t kMaxText = 8 << 20;

struct Order {
  std::string text;
  std::shared_ptr<const policies::PiiDetector> detector;
};

// Made once: the expressions are the same for everybody.
const std::shared_ptr<const policies::PiiDetector>& detector_of_all() {
  static const auto made = policies::PiiDetector::make({}).value();
  return made;
}

Result<Order> read_order(const json& arguments) {
  Fields in(arguments, "sanitize_pii");
  Order order;
  TRY(order.text, in.string("text", kMaxText));
  policies::PiiOptions options;
  TRY(options.types, in.strings_or("types", {}));
  CHECKED(in.done());
  order.detector = detector_of_all();
  if (!options.types.empty()) {
    TRY(order.detector, policies::PiiDetector::make(options));
  }
  return order;
}

}  // namespace

mcp::ToolDefinition sanitize_pii_definition() {
  mcp::ToolDefinition tool;
  tool.name = "sanitize_pii";
  tool.description =
      "Replace personal data and secrets in text by tokens such as [EMAIL_k3v7qd]; the same text has the same token.";
  tool.input_schema = ordered_json::parse(R"({
    "type": "object",
    "properties": {
      "text": {"type": "string"},
      "types": {"type": "array", "items": {"type": "string"}, "description": "Only these, as in email, phone"}
    },
    "required": ["text"],
    "additionalProperties": false
  })");
  tool.output_schema = ordered_json::parse(R"({
    "type": "object",
    "properties": {"sanitized_text": {"type": "string"}, "pii_found": {"type": "integer"},
                   "pii_types": {"type": "array", "items": {"type": "string"}}}
  })");
  tool.annotations.destructive = false;
  tool.annotations.idempotent = true;
  tool.annotations.open_world = false;
  return tool;
}

mcp::ToolResult sanitize_pii(policies::PiiVault& vault, const json& arguments) {
  auto order = read_order(arguments);
  if (!order) return failure(order.error());
  auto clean = policies::sanitize(order->text, *order->detector, vault);
  if (!clean) return failure(clean.error());
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
