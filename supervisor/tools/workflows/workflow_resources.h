// The resources of workflows: workflow:///<name>, its state and its steps as JSON, and workflow:///<name>/<position>,
// the value of one step. Source: workflows::WorkflowStore. Used by: part.cc. Errors:
// not_found, invalid.
#pragma once
#include <string>
#include <string_view>

#include "supervisor/protocol/mcp/registry.h"
#include "supervisor/tenants/requester.h"
#include "supervisor/tools/workflows/workflow_store.h"

namespace tools {

constexpr std::string_view kWorkflowScheme = "workflow:///";

// The store must outlive the server.
mcp::ResourceProvider workflow_resources(const tenants::RequesterOf& requester_of, workflows::WorkflowStore& store);

// Removes the workflow of workflow:///<name> with its steps, so that the next run begins anew. {success, message}.
Task<Result<Json>> delete_workflow(workflows::WorkflowStore& store, const tenants::Requester& requester,
                                   std::string uri);

}  // namespace tools
