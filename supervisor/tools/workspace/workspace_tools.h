// The workspace tools: four MCP tools and resources, for the files of the caller's tenant. Each tool has its own file.
// Source: tenants::Workspace, kept output, session logs, the journal.
// Used by: supervisor/daemon/. Each tool checks its own arguments and answers `{success: true, ...}`.
#pragma once
#include <functional>

#include "supervisor/base/json/json_value.h"
#include "supervisor/executions/execution_registry.h"
#include "supervisor/executions/recent_code.h"
#include "supervisor/executions/runs/named_execution.h"
#include "supervisor/protocol/mcp/registry.h"
#include "supervisor/protocol/mcp/server.h"
#include "supervisor/records/journal/journal.h"
#include "supervisor/tenants/requester.h"
#include "supervisor/tools/operation.h"
#include "supervisor/tools/workspace/resource_deleter.h"

namespace tools {

class ResourceChanges;
// Adds the four tools. `changes` must outlive all calls.
// delete_workspace_file also cancels background executions and those with an id that their client chose, and removes
// workflows (nullptr: Warder was built without them).
void add_workspace_tools(const OperationRegistry& registry, ResourceChanges& changes, runs::ExecutionStores stores,
                         journal::Journal& journal, ResourceDeleter* workflows);
// Serves workspace:///path, exec:///<execution_id>/stdout|stderr|stats|result|code|receipt and session:///<session_id>.
// `journal` the stores and `recent` must outlive the server.
mcp::ResourceProvider workspace_resources(const tenants::RequesterOf& requester_of, journal::Journal& journal,
                                          runs::ExecutionStores stores, const executions::RecentCode& recent);

// The entries of the folder workspace:///path, as the protocol's resources/directory/read wants them: {resources,
// nextCursor?}; a folder has the type inode/directory. `tenant` must outlive the task. Errors: invalid, not_found.
Task<Result<Json>> read_workspace_folder(tenants::Tenant& tenant, std::string uri, std::string cursor);

// Completes paths of the workspace, ids of executions with kept output, their streams, and names of sessions.
mcp::CompletionHandler workspace_completion(const tenants::RequesterOf& requester_of);

mcp::ToolDefinition write_workspace_file_definition();
mcp::ToolDefinition read_workspace_file_definition();
mcp::ToolDefinition list_workspace_files_definition();
mcp::ToolDefinition delete_workspace_file_definition();

// `tenant` must outlive the task.
Task<Result<Json>> write_workspace_file(tenants::Tenant& tenant, Json arguments);
Task<Result<Json>> list_workspace_files(tenants::Tenant& tenant, Json arguments);
Task<Result<Json>> delete_workspace_file(tenants::Tenant& tenant, Json arguments);
// FileReading: what a reader uses beside its tenant. All must outlive the task. The pointers may be
// nullptr in tests.
struct FileReading {
  Loop& loop;
  runs::ExecutionStores stores;
  journal::Journal* journal = nullptr;
  Work* work = nullptr;
};
// The answer has no structured content: it is text, or a text and an image. The result of a background execution is
// its answer as it is, unless a part is asked for; while it works, the call waits 20 seconds.
Task<Result<mcp::ToolResult>> read_workspace_file(FileReading reading, const tenants::Requester& requester,
                                                  Json arguments);

Task<Result<mcp::ResourcePage>> list_resources(tenants::Tenant& tenant, std::string cursor);
Task<Result<std::vector<mcp::ResourceContents>>> read_resource(tenants::Tenant& tenant, std::string uri);

}  // namespace tools
