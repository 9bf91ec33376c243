#include "supervisor/tools/call_audit.h"

#include <algorithm>

#include "supervisor/protocol/mcp/context.h"
#include "supervisor/tenants/requester.h"
#include "supervisor/tenants/tenant.h"

namespace tools {
namespace {

constexpr std::string_view kTelling[] = {"search_tools", "get_tool_definition", "list_tool_categories"};

}  // namespace

mcp::CallObserver audit_calls(journal::Journal& journal) {
  mcp::CallObserver observer;
  observer.started = [&journal](const mcp::RequestContext& context, const std::string& tool, const Json& arguments) {
    const tenants::Member& member = tenants::member_of(context);
    journal::AuditEntry entry{journal::now_ms(),           member.tenant->name(), context.principal.uid(),
                              context.principal.pid(),     "tools/call",          tool,
                              journal::shape_of(arguments)};
    if (!context.principal.peer()) entry.principal = context.principal.name();
    journal.audit(std::move(entry));
  };
  observer.answered = [](const mcp::RequestContext& context, const std::string& tool, const mcp::ToolResult& result) {
    if (std::find(std::begin(kTelling), std::end(kTelling), tool) == std::end(kTelling)) return;
    for (const auto& block : result.content) {
      if (const auto* text = std::get_if<mcp::Text>(&block))
        tenants::member_of(context).definition_bytes += text->text.size();
    }
  };
  return observer;
}

}  // namespace tools
