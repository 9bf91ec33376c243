#include "supervisor/tools/catalog/call_tool.h"

#include <fmt/format.h>

#include <algorithm>

#include "supervisor/base/fields.h"
#include "supervisor/base/json.h"
#include "supervisor/base/large_value.h"
#include "supervisor/calls/beside_loop.h"
#include "supervisor/upstream/result_value.h"

namespace tools {
namespace {

constexpr size_t kMaxDirectBytes = 1 << 20;  // of a result for an agent
constexpr size_t kMaxReplyBytes = 63 << 20;  // of a result for code; a guest takes 64 MiB
constexpr size_t kMaxShown = 16;             // images

// Moves the tool's arguments out of `asked`.
Result<calls::UpstreamCall> read_order(JsonWork& json, Json& asked) {
  Fields in(asked, "call_tool");
  calls::UpstreamCall order{{&json, Json::object()}};
  TRY(order.name, in.string("name", 512));
  TRY(order.server, in.string_or("server", "", 128));
  const Json* arguments = in.find("arguments");
  if (arguments && !arguments->is_object()) return fail(Code::invalid, "call_tool.arguments: not an object");
  TRY(order.select, in.strings_or("select", {}));
  CHECKED(in.done());
  if (arguments) *order.arguments = std::move(asked["arguments"]);
  return order;
}

Task<Result<jail::CallReply>> call_from_code(calls::CallEnvironment& environment, calls::GuestCaller& caller,
                                             Json asked) {
  FreedBeside all(&environment.json, std::move(asked));
  const policies::CallRules& rules = caller.policy->calls;
  CO_TRY(calls::UpstreamCall order, read_order(environment.json, *all));
  if (caller.calls >= rules.per_execution)
    co_return fail(
        Code::exhausted, fmt::format("this execution has used its {} tool calls", rules.per_execution),
        "ask for more data in one call (a page, a list of ids, a search), or write your results to a file of the "
        "workspace and continue in another execution",
        "calls.per_execution");
  caller.calls++;
  if (caller.tell && caller.calls == calls::first_call_told(rules.per_execution))
    caller.tell(calls::told_of_calls(caller.calls, rules.per_execution));
  for (const auto& [name, workflow] : caller.workflows)
    if (workflow && order.idempotency_key.empty()) order.idempotency_key = workflow->next_call_key();
  uint64_t bytes = 0;
  const auto paths = std::move(order.select);
  CO_TRY(upstream::ToolValue told, co_await calls::call_upstream(environment, caller, std::move(order), bytes));
  caller.bytes += bytes;
  FreedBeside value(&environment.json, std::move(told.value));  // freed beside the loop if the code does not get it
  if (caller.bytes > rules.bytes)
    co_return fail(Code::exhausted,
                   fmt::format("the results of this execution's calls are more than {} bytes", rules.bytes),
                   "ask for less data, or continue in another execution", "calls.bytes");
  if (!told.failure.is_null()) co_return jail::CallReply(Json{{"failure", std::move(told.failure)}}, bytes);
  if (!paths.empty()) {
    auto choose = [whole = calls::shared_value(std::move(*value)), paths] {
      calls::Measured chosen;
      chosen.told.value = upstream::select(*whole, paths);
      *whole = nullptr;
      chosen.bytes = dump_json(chosen.told.value).size();
      return chosen;
    };
    CO_TRY(calls::Measured chosen, co_await calls::run_beside(environment, caller, bytes, 0, std::move(choose)));
    *value = std::move(chosen.told.value);
    bytes = chosen.bytes;
  }
  if (bytes > kMaxReplyBytes)
    co_return fail(Code::exhausted, fmt::format("the result is larger than {} MB", kMaxReplyBytes >> 20),
                   "name the parts that you need with select, or ask for less data");
  co_return jail::CallReply(Json{{"value", std::move(*value)}}, bytes);
}

// Moves pictures out of the value: image blocks cost a client less than base64 in a text.
void take_images(Json& value, std::vector<mcp::Block>& images) {
  if (value.is_array())
    for (Json& one : value) take_images(one, images);
  if (!value.is_object() || images.size() >= kMaxShown) return;
  const Json type = value.value("type", Json()), data = value.value("data", Json()),
             mime = value.value("mimeType", Json());
  if (type != "image" || !data.is_string() || !mime.is_string()) return;
  images.push_back(mcp::Image{data.get<std::string>(), mime.get<std::string>()});
  value["data"] = "see the image block";
}

mcp::ToolResult told_to_agent(upstream::ToolValue told, const std::vector<std::string>& paths) {
  std::vector<mcp::Block> images;
  Json answer;
  if (!told.failure.is_null()) {
    answer["success"] = false;
    answer["error"] = told.failure["message"];
    answer["code"] = told.failure["code"];
    if (told.failure.contains("data")) answer["data"] = told.failure["data"];
  } else {
    if (!paths.empty()) told.value = upstream::select(told.value, paths);
    take_images(told.value, images);
    answer["result"] = std::move(told.value);
  }
  if (dump_json(answer).size() > kMaxDirectBytes)
    return mcp::ToolResult::error(Error{Code::exhausted,
                                        0,
                                        "the result is larger than 1 MB",
                                        "name the parts that you need with select, or call the tool from code",
                                        {}});
  mcp::ToolResult result = mcp::ToolResult::data(std::move(answer));
  result.is_error = !told.failure.is_null();
  if (!images.empty()) result.structured.reset();  // a client that prefers structured content drops the pictures
  std::move(images.begin(), images.end(), std::back_inserter(result.content));
  return result;
}

Task<Result<mcp::ToolResult>> call_for_agent(calls::CallEnvironment& environment, mcp::RequestContext& context,
                                             const tenants::Requester& requester, Json asked) {
  FreedBeside all(&environment.json, std::move(asked));
  const calls::CallContext who{requester, context};
  CO_TRY(calls::UpstreamCall order, read_order(environment.json, *all));
  const auto paths = std::move(order.select);
  uint64_t bytes = 0;
  CO_TRY(upstream::ToolValue told, co_await calls::call_upstream(environment, who, std::move(order), bytes));
  auto show = [told = calls::shared_value(std::move(told)), paths] { return told_to_agent(std::move(*told), paths); };
  auto shown = co_await calls::run_beside(environment, who, bytes, 0, std::move(show));
  co_return shown;
}

}  // namespace

mcp::ToolDefinition call_tool_definition() {
  mcp::ToolDefinition tool;
  tool.name = "call_tool";
  tool.tasks = mcp::ToolDefinition::Tasks::optional;
  tool.description = "Call one found tool; several: from code.";
  tool.input_schema = Json::parse(R"({
    "type": "object",
    "properties": {
      "name": {"type": "string"},
      "arguments": {"type": "object"},
      "select": {"type": "array", "items": {"type": "string"}, "description": "of the result: items.title"},
      "server": {"type": "string"}
    },
    "required": ["name"]
  })");
  tool.unlisted = {"server"};
  return tool;
}

void add_call_tool(const OperationRegistry& registry, calls::CallEnvironment& environment) {
  auto agents = [&environment](mcp::RequestContext& context, const tenants::Requester& requester, Json arguments) {
    return call_for_agent(environment, context, requester, std::move(arguments));
  };
  auto code = [&environment](calls::GuestCaller& caller, Json arguments) {
    return call_from_code(environment, caller, std::move(arguments));
  };
  registry.add({call_tool_definition(), agents, code});
}

}  // namespace tools
