#include "supervisor/tools/accounts.h"

#include <algorithm>

#include "supervisor/tenants/tenant.h"

namespace tools {
namespace {

constexpr size_t kSample = 256;        // definitions that are looked at
constexpr size_t kEnvelopeBytes = 40;  // {"name":"","description":"", ... }
constexpr std::string_view kTelling[] = {"search_tools", "get_tool_definition", "list_tool_categories"};

}  // namespace

mcp::CallObserver keep_accounts(journal::Journal& journal) {
  mcp::CallObserver observer;
  observer.began = [&journal](const mcp::RequestContext& context, const std::string& tool,
                              const nlohmann::json& arguments) {
    const auto& member = context.user_as<tenants::Member>();
    journal.audit({journal::now_ms(), member.tenant->name(), context.peer.uid, context.peer.pid, "tools/call", tool,
                   journal::shape_of(arguments)});
  };
  observer.answered = [](const mcp::RequestContext& context, const std::string& tool, const mcp::ToolResult& result) {
    if (std::find(std::begin(kTelling), std::end(kTelling), tool) == std::end(kTelling)) return;
    for (const auto& block : result.content) {
      if (const auto* text = std::get_if<mcp::Text>(&block))
        context.user_as<tenants::Member>().definition_bytes += text->text.size();
    }
  };
  return observer;
}

uint64_t definition_bytes(const catalog::Catalog& catalog) {
  if (catalog.size() == 0) return 0;
  const size_t looked_at = std::min(catalog.size(), kSample);
  uint64_t bytes = 0;
  for (size_t i = 0; i < looked_at; i++) {
    const auto number = static_cast<uint32_t>(i * catalog.size() / looked_at);
    const catalog::ToolView tool = catalog.tool(number);
    bytes += tool.name.size() + tool.description.size() + catalog.rest(number).size() + kEnvelopeBytes;
  }
  return bytes * catalog.size() / looked_at;
}

}  // namespace tools
