#include "supervisor/base/fields.h"
#include "supervisor/base/json.h"
#include "supervisor/tools/pii/pii_tools.h"
#include "supervisor/tools/workspace_answers.h"

namespace tools {
namespace {

constexpr size_t kMaxTextToRestore = 4'000'000;     // bytes; an answer has them twice, a reply has at most 8 MiB
constexpr size_t kMaxRestored = kMaxTextToRestore;  // bytes; a short token may have a long text

}  // namespace

mcp::ToolDefinition restore_pii_definition() {
  mcp::ToolDefinition tool;
  tool.name = "restore_pii";
  tool.description = "Put back what tokens stand for, if allowed.";
  tool.input_schema = Json::parse(R"({
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "required": ["text"]
  })");
  tool.annotations.read_only = true;
  tool.annotations.destructive = false;
  tool.annotations.idempotent = true;
  tool.annotations.open_world = false;
  // The client asks its user at every call, also after an earlier consent: the answer is personal data in clear text.
  tool.meta = Json{{"anthropic/requiresUserInteraction", true}};
  return tool;
}

mcp::ToolResult restore_pii(policies::PiiVault& vault, const policies::PiiRules& rules, const Json& arguments) {
  if (rules.restore != policies::PiiRules::Restore::agents)
    return failure(Error{Code::denied, 0, "restoring personal data is off for agents",
                         "keep the tokens; the administrator can allow it in the tenant's policy", "pii.restore"});
  Fields in(arguments, "restore_pii");
  auto text = in.string("text", kMaxTextToRestore);
  if (!text) return failure(text.error());
  if (auto known = in.done(); !known) return failure(known.error());
  auto restored = policies::restore(*text, vault, kMaxRestored);
  if (!restored) return failure(restored.error());
  Json answer = {{"restored_text", valid_utf8(*restored)}};
  return mcp::ToolResult::data(std::move(answer));
}

}  // namespace tools
