// Operation: one capability of the daemon: its definition, its audience (agents, jailed code or both) and its work.
// OperationRegistry offers it to agents as an MCP tool and to jailed code as a guest call. The work is written once:
// both audiences get the same value, or the same code, message, rule and remedy of an error.
// Source: the add_... functions of supervisor/tools. Used by: supervisor/daemon/. Errors: those of the work.
#pragma once
#include <functional>
#include <string>

#include "supervisor/base/json/json_value.h"
#include "supervisor/protocol/mcp/server.h"
#include "supervisor/tenants/requester.h"
#include "supervisor/upstream/calls/guest_calls.h"

namespace tools {

// The requester and the function itself outlive the task.
using OperationWork = std::function<Task<Result<Json>>(const tenants::Requester& requester, Json arguments)>;
using AgentHandler = std::function<Task<Result<mcp::ToolResult>>(mcp::RequestContext&,
                                                                 const tenants::Requester& requester, Json arguments)>;
using CodeHandler = calls::GuestCalls::Handler;

struct Operation {
  mcp::ToolDefinition definition;  // code knows only its name
  AgentHandler agents;             // empty: agents do not have it
  CodeHandler code;                // empty: jailed code does not have it
};

// Operations whose value is plain JSON. Agents get it as structured content and as text.
Operation agent_operation(mcp::ToolDefinition definition, OperationWork work);
Operation code_operation(std::string name, OperationWork work);
Operation shared_operation(mcp::ToolDefinition definition, OperationWork work);  // for both, under one name

// The value as structured content and as text; an error as {success: false, error, code, rule?, remedy?}.
mcp::ToolResult answer_for_agent(Result<Json> value);

// The task of work that does not wait.
template <class T>
Task<T> ready(T value) {
  co_return std::move(value);
}

class OperationRegistry {
 public:
  // Server and guest calls must outlive the registry; the registry may end before them.
  OperationRegistry(mcp::Server& server, calls::GuestCalls& guest_calls, tenants::RequesterOf requester_of)
      : server_(server), guest_calls_(guest_calls), requester_of_(std::move(requester_of)) {}

  // Offers the operation to its audience. Each name only once. The order of calls is the order of tools/list.
  void add(Operation operation) const;
  // For a tool that needs no requester, so that it answers also if the request names a workspace that is refused.
  mcp::Server& server() const { return server_; }
  // For calls of jailed code that agents do not have.
  calls::GuestCalls& guest_calls() const { return guest_calls_; }
  const tenants::RequesterOf& requester_of() const { return requester_of_; }

 private:
  mcp::Server& server_;
  calls::GuestCalls& guest_calls_;
  tenants::RequesterOf requester_of_;
};

}  // namespace tools
