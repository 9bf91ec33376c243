// The part of Server for tool calls with large arguments or large results: both are processed on a thread beside the
// loop, as jobs of the user. The jobs charge 0 bytes to the user's budget: it was charged before, when the arguments
// were read or the result was made.
#include "supervisor/protocol/mcp/context.h"
#include "supervisor/protocol/mcp/server.h"

namespace mcp {
namespace {

Work::Owner owner_of(const RequestContext& context) { return {context.principal.shown()}; }

}  // namespace

// Wrong arguments are not returned, but freed on the thread.
Task<Result<std::pair<CheckedArguments, Json>>> Server::check_beside(const RequestContext& context,
                                                                     const ToolDefinition& tool, Json arguments) {
  const UnderWay<std::string>::One checking(checking_, context.principal.name());
  using Looked = std::pair<CheckedArguments, Json>;
  std::function<Result<Looked>()> job = [schema = tool.input_schema, spellings = tool.spellings,
                                         value = std::make_shared<Json>(std::move(arguments))]() -> Result<Looked> {
    Looked looked;
    looked.first = check_arguments(schema, spellings, *value);
    if (!looked.first.problems) looked.second = std::move(*value);
    *value = nullptr;
    return looked;
  };
  Work::Owner owner = owner_of(context);
  // An owner's jobs keep their order.
  auto looked = co_await work_->run(std::move(owner), 0, std::move(job));
  co_return looked;
}

Task<Result<std::string>> Server::write_beside(const RequestContext& context, ToolResult result, size_t bytes) {
  auto whole = std::make_shared<ToolResult>(std::move(result));
  std::function<Result<std::string>()> job = [whole, bytes, version = context.version,
                                              identity = identity_]() -> Result<std::string> {
    std::string members;
    members.reserve(bytes + bytes / 8 + 256);
    append_tool_result(members, *whole, version);
    finish_result(members, version, identity, whole->meta);
    *whole = {};
    return members;
  };
  Work::Owner owner = owner_of(context);
  auto members = co_await work_->run(std::move(owner), 0, std::move(job));
  co_return members;
}

}  // namespace mcp
