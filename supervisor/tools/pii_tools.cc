#include "supervisor/tools/pii_tools.h"

namespace tools {
namespace {

Task<mcp::ToolResult> answer(mcp::ToolResult result) { co_return result; }

}  // namespace

policies::PiiVault& PiiVaults::of(const std::string& tenant) {
  auto& vault = vaults_[tenant];
  if (!vault) vault = make_ ? make_(tenant) : std::make_unique<policies::MemoryVault>();
  return *vault;
}

void add_pii_tools(mcp::Server& server, const TenantOf& tenant_of, PiiVaults& vaults, const MayRestore& may_restore) {
  server.add_tool(sanitize_pii_definition(),
                  [tenant_of, &vaults](mcp::RequestContext& context, nlohmann::json arguments) {
                    return answer(sanitize_pii(vaults.of(tenant_of(context).name()), arguments));
                  });
  server.add_tool(restore_pii_definition(),
                  [tenant_of, &vaults, may_restore](mcp::RequestContext& context, nlohmann::json arguments) {
                    const auto restoring = may_restore(context) ? Restoring::allowed : Restoring::denied;
                    return answer(restore_pii(vaults.of(tenant_of(context).name()), restoring, arguments));
                  });
}

}  // namespace tools
