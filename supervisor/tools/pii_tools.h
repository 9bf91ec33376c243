// The tools for personal data: text in, text with tokens out, and back for those whom a policy trusts.
// Each tenant has a vault of its own: a token of one means nothing to another.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "policies/pii_tokens.h"
#include "supervisor/mcp/registry.h"
#include "supervisor/mcp/server.h"
#include "supervisor/tools/workspace_tools.h"

namespace tools {

// The vaults of all tenants, made at their first use. Must outlive the server.
class PiiVaults {
 public:
  // What makes a tenant's vault; by default one in memory, which forgets with the process.
  using Make = std::function<std::unique_ptr<policies::PiiVault>(const std::string& tenant)>;
  explicit PiiVaults(Make make = {}) : make_(std::move(make)) {}
  policies::PiiVault& of(const std::string& tenant);

 private:
  Make make_;
  std::map<std::string, std::unique_ptr<policies::PiiVault>, std::less<>> vaults_;
};

// Whether this request may have personal data back. Agents may not, unless their policy says so: a model that can
// restore what was hidden from it has been shown it.
using MayRestore = std::function<bool(mcp::RequestContext&)>;

void add_pii_tools(mcp::Server& server, const TenantOf& tenant_of, PiiVaults& vaults, const MayRestore& may_restore);

mcp::ToolDefinition sanitize_pii_definition();
mcp::ToolDefinition restore_pii_definition();

mcp::ToolResult sanitize_pii(policies::PiiVault& vault, const nlohmann::json& arguments);
enum class Restoring { denied, allowed };
mcp::ToolResult restore_pii(policies::PiiVault& vault, Restoring restoring, const nlohmann::json& arguments);

}  // namespace tools
