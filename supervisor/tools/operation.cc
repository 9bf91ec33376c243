#include "supervisor/tools/operation.h"

#include "supervisor/base/large_value.h"

namespace tools {
namespace {

Task<Result<mcp::ToolResult>> run_for_agent(const OperationWork& work, const tenants::Requester& requester,
                                            Json arguments) {
  auto running = work(requester, std::move(arguments));
  CO_TRY(Json value, co_await std::move(running));
  co_return mcp::ToolResult::data(std::move(value));
}

Task<Result<jail::CallReply>> run_for_code(const OperationWork& work, const tenants::Requester& requester,
                                           Json arguments) {
  auto running = work(requester, std::move(arguments));
  CO_TRY(Json value, co_await std::move(running));
  co_return jail::CallReply(std::move(value));
}

AgentHandler agent_handler(OperationWork work) {
  return [work = std::move(work)](mcp::RequestContext&, const tenants::Requester& requester, Json arguments) {
    return run_for_agent(work, requester, std::move(arguments));
  };
}

CodeHandler code_handler(OperationWork work) {
  return [work = std::move(work)](calls::GuestCaller& caller, Json arguments) {
    return run_for_code(work, caller, std::move(arguments));
  };
}

// `json`: large arguments that the handler did not take are freed there.
Task<mcp::ToolResult> answer_agent(const AgentHandler& handler, Work* json, mcp::RequestContext& context,
                                   Result<tenants::Requester> requester, Json arguments) {
  FreedBeside freed_beside(json, std::move(arguments));
  if (!requester) co_return mcp::ToolResult::error(requester.error());
  auto running = handler(context, *requester, std::move(*freed_beside));
  auto answer = co_await std::move(running);
  if (!answer) co_return mcp::ToolResult::error(answer.error());
  co_return *std::move(answer);
}

}  // namespace

Operation agent_operation(mcp::ToolDefinition definition, OperationWork work) {
  return {std::move(definition), agent_handler(std::move(work)), nullptr};
}

Operation code_operation(std::string name, OperationWork work) {
  Operation operation;
  operation.definition.name = std::move(name);
  operation.code = code_handler(std::move(work));
  return operation;
}

Operation shared_operation(mcp::ToolDefinition definition, OperationWork work) {
  return {std::move(definition), agent_handler(work), code_handler(work)};
}

mcp::ToolResult answer_for_agent(Result<Json> value) {
  return value ? mcp::ToolResult::data(*std::move(value)) : mcp::ToolResult::error(value.error());
}

void OperationRegistry::add(Operation operation) const {
  if (operation.code) guest_calls_.add(operation.definition.name, std::move(operation.code));
  if (!operation.agents) return;
  server_.add_tool(std::move(operation.definition),
                   [&server = server_, requester_of = requester_of_, handler = std::move(operation.agents)](
                       mcp::RequestContext& context, Json arguments) {
                     return answer_agent(handler, server.work(), context, requester_of(context), std::move(arguments));
                   });
}

}  // namespace tools
