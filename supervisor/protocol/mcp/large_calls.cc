// The part of Server for tool calls with large arguments or large results: both are processed on a thread beside the
// loop, as jobs of the user. The jobs charge 0 bytes to the user's budget: it was charged before, when the arguments
// were read or the result was made.
#include "supervisor/protocol/mcp/context.h"
#include "supervisor/protocol/mcp/server.h"

namespace mcp {
namespace {

Work::Owner owner_of(const RequestContext& context) { return {context.principal.displayed()}; }

}  // namespace

// Wrong arguments are not returned, but freed on the thread.
Task<Result<std::pair<CheckedArguments, Json>>> Server::check_beside(const RequestContext& context,
                                                                     const ToolDefinition& tool, Json arguments) {
  const UnderWay<std::string>::Guard checking(checking_, context.principal.name());
  using CheckedCall = std::pair<CheckedArguments, Json>;
  std::function<Result<CheckedCall>()> job =
      [schema = tool.input_schema, spellings = tool.spellings,
       value = std::make_shared<Json>(std::move(arguments))]() -> Result<CheckedCall> {
    CheckedCall checked;
    checked.first = check_arguments(schema, spellings, *value);
    if (!checked.first.problems) checked.second = std::move(*value);
    *value = nullptr;
    return checked;
  };
  Work::Owner owner = owner_of(context);
  // An owner's jobs keep their order.
  auto checked = co_await work_->run(std::move(owner), 0, std::move(job));
  co_return checked;
}

Task<Result<std::string>> Server::write_beside(const RequestContext& context, ToolResult result, size_t bytes) {
  auto tool_result = std::make_shared<ToolResult>(std::move(result));
  std::function<Result<std::string>()> job = [tool_result, bytes, version = context.version,
                                              identity = identity_]() -> Result<std::string> {
    std::string members;
    members.reserve(bytes + bytes / 8 + 256);
    append_tool_result(members, *tool_result, version);
    finish_result(members, version, identity, tool_result->meta);
    *tool_result = {};
    return members;
  };
  Work::Owner owner = owner_of(context);
  auto members = co_await work_->run(std::move(owner), 0, std::move(job));
  co_return members;
}

}  // namespace mcp
