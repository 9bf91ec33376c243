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

// A reply has 8 MiB for the text as data and, escaped once more, as the text of that.
constexpr size_t kMaxAnswer = 8'000'000;

// The least that two copies of it take: one in a string of JSON, one in JSON in such a string.
size_t answer_bytes(std::string_view text) {
  size_t bytes = 2 * text.size();
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      bytes += 3;  // as \" and as \\\"
    } else if (c == '\n' || c == '\t' || c == '\r') {
      bytes += 3;  // as \n and as \\n
    }
  }
  return bytes;
}

struct Order {
  std::string text;
  policies::SanitizeOptions options;
};

Result<Order> read_order(const policies::PiiDetector& detector, const json& arguments) {
  Fields in(arguments, "sanitize_pii");
  Order order;
  TRY(order.text, in.string("text", kMaxAnswer));
  if (const size_t bytes = answer_bytes(order.text); bytes > kMaxAnswer)
    return fail(Code::invalid,
                fmt::format("text: {} bytes make an answer of {}, more than the {} that are sent at once",
                            order.text.size(), bytes, kMaxAnswer),
                fmt::format("send it in parts of at most {} bytes", kMaxAnswer / 4));
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

Task<mcp::ToolResult> sanitize_pii(Loop& loop, policies::PiiVault& vault, const policies::PiiRules& rules,
                                   const json& arguments) {
  auto order = read_order(*rules.detector, arguments);
  if (!order) co_return failure(order.error());
  auto clean = co_await sanitize_in_turns(loop, order->text, *rules.detector, vault, order->options);
  if (!clean) co_return failure(clean.error());
  if (auto settled = vault.settle(); !settled) co_return failure(settled.error());
  ordered_json types = ordered_json::array();
  for (std::string type : clean->types) {
    for (char& c : type) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;  // as the tokens say it
    types.push_back(std::move(type));
  }
  ordered_json answer = {{"sanitized_text", valid_utf8(clean->text)},
                         {"pii_found", clean->tokens.size()},
                         {"pii_types", std::move(types)}};
  co_return mcp::ToolResult::data(std::move(answer));
}

}  // namespace tools
