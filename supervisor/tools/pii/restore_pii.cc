#include "supervisor/base/json/fields.h"
#include "supervisor/base/json/json.h"
#include "supervisor/tools/pii/pii_tools.h"

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
  // The client asks its user at every call, also after an earlier consent: the answer is personal data in clear text.
  tool.meta = Json{{"anthropic/requiresUserInteraction", true}};
  return tool;
}

Result<Json> restore_pii(policies::PiiVault& vault, const policies::PiiRules& rules, const Json& arguments,
                         WorkMeter& meter) {
  if (rules.restore != policies::PiiRules::Restore::agents)
    return fail(Code::denied, "restoring personal data is off for agents",
                "keep the tokens; the administrator can allow it in the tenant's policy", "pii.restore");
  Fields in(arguments, "restore_pii");
  TRY(const std::string text, in.string("text", kMaxTextToRestore));
  CHECKED(in.done());
  TRY(const std::string restored, policies::restore(text, vault, meter, kMaxRestored));
  return Json{{"restored_text", valid_utf8(restored)}};
}

}  // namespace tools
