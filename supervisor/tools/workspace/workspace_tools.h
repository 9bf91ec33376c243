// The workspace tools: four MCP tools and the resources beside them, on the files of the caller's tenant.
// Each handler checks its arguments itself and answers `{success: true, ...}`, or an error result with
// `{success: false, error, code, rule?, remedy?}`. One file per tool; what they share is in workspace_answers.h.
#pragma once
#include <functional>

#include "supervisor/base/json_value.h"
#include "supervisor/journal/journal.h"
#include "supervisor/mcp/registry.h"
#include "supervisor/mcp/server.h"
#include "supervisor/tenants/tenant.h"
#include "supervisor/tools/asker.h"

namespace tools {

// The key of a request's _meta that names a workspace.
inline constexpr char kWorkspaceKey[] = "org.warder/workspace";

class ResourceChanges;
void add_workspace_tools(mcp::Server& server, ResourceChanges& changes, const TenantOf& tenant_of);
// workspace:///path, exec:///<execution_id>/stdout|stderr|stats and session:///<session_id>.
mcp::ResourceProvider workspace_resources(const TenantOf& tenant_of, journal::Journal& journal);

// What is in the folder workspace:///path: {resources, nextCursor?}, folders as inode/directory, as the protocol's
// resources/directory/read has it. Errors: invalid, not_found.
Task<Result<Json>> read_workspace_folder(tenants::Tenant& tenant, std::string uri, std::string cursor);

// Paths of the workspace, executions whose output is kept, and their streams.
mcp::CompletionHandler workspace_completion(const TenantOf& tenant_of);

mcp::ToolDefinition write_workspace_file_definition();
mcp::ToolDefinition read_workspace_file_definition();
mcp::ToolDefinition list_workspace_files_definition();
mcp::ToolDefinition delete_workspace_file_definition();

// `tenant` must outlive the task.
Task<mcp::ToolResult> write_workspace_file(tenants::Tenant& tenant, Json arguments);
Task<mcp::ToolResult> read_workspace_file(tenants::Tenant& tenant, Json arguments);
Task<mcp::ToolResult> list_workspace_files(tenants::Tenant& tenant, Json arguments);
Task<mcp::ToolResult> delete_workspace_file(tenants::Tenant& tenant, Json arguments);

Task<Result<mcp::ResourcePage>> list_resources(tenants::Tenant& tenant, std::string cursor);
Task<Result<std::vector<mcp::ResourceContents>>> read_resource(tenants::Tenant& tenant, std::string uri);

}  // namespace tools
