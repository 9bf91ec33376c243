// The resources of workflows: workflow:///<name>, its state and its steps as JSON, and workflow:///<name>/<position>,
// the value of one step. Source: workflows::WorkflowStore. Used by: supervisor/daemon/, the workspace tools. Errors:
// not_found, invalid.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "supervisor/protocol/mcp/registry.h"
#include "supervisor/records/workflows/workflow_store.h"
#include "supervisor/tenants/requester.h"

namespace tools {

constexpr std::string_view kWorkflowScheme = "workflow:///";

// The store must outlive the server.
mcp::ResourceProvider workflow_resources(const tenants::RequesterOf& requester_of, workflows::WorkflowStore& store);

// The name in workflow:///<name>; empty for any other text.
std::optional<std::string> workflow_of_uri(std::string_view uri);
// Removes the workflow with its steps, so that the next run begins anew. {success, message}.
Task<Result<Json>> delete_workflow(workflows::WorkflowStore& store, const tenants::Requester& requester,
                                   std::string name);

}  // namespace tools
