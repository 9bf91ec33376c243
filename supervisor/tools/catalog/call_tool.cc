#include "supervisor/tools/catalog/call_tool.h"

#include <fmt/format.h>

#include <algorithm>

#include "policies/call_rules.h"
#include "policies/policy_parts.h"
#include "supervisor/base/json/fields.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/large_value.h"
#include "supervisor/upstream/selection.h"

namespace tools {
namespace {

constexpr size_t kMaxDirectBytes = 1 << 20;  // of a result for an agent
constexpr size_t kMaxReplyBytes = 63 << 20;  // of a result for code; a guest takes 64 MiB
constexpr size_t kMaxAnswerImages = 16;      // images

struct ToolOrder {
  calls::UpstreamCall call;
  upstream::Selection select;
};

// Moves the tool's arguments out of `request`.
Result<ToolOrder> read_order(Work& work, Json& request) {
  Fields in(request, "call_tool");
  ToolOrder order{{{&work, Json::object()}, {}, {}}, {}};
  TRY(order.call.name, in.string("name", 512));
  TRY(order.call.server, in.string_or("server", "", 128));
  const Json* arguments = in.find("arguments");
  if (arguments && !arguments->is_object()) return fail(Code::invalid, "call_tool.arguments: not an object");
  TRY(const auto paths, in.strings_or("select", {}));
  CHECKED(in.done());
  TRY(order.select, upstream::Selection::of(paths));
  if (arguments) *order.call.arguments = std::move(request["arguments"]);
  return order;
}

// A job: the reply to code, as the JSON text {"value": ...} or {"failure": ...}.
Result<std::string> reply_to_code(upstream::ToolValue result, const upstream::Selection& select, WorkMeter& meter) {
  const bool is_failure = !result.failure.is_null();
  Json value = std::move(result.failure);
  if (!is_failure) {
    TRY(value, select.apply(std::move(result.value), meter));
  }
  std::string text = is_failure ? R"({"failure":)" : R"({"value":)";
  text += dump_json(value);
  text += '}';
  if (text.size() > kMaxReplyBytes)
    return fail(Code::exhausted, fmt::format("the result is larger than {} MB", kMaxReplyBytes >> 20),
                "name the parts that you need with select, or ask for less data");
  return text;
}

Task<Result<jail::CallReply>> call_from_code(calls::CallEnvironment& environment, calls::GuestCaller& caller,
                                             Json request) {
  FreedBeside all(&environment.work, std::move(request));
  const policies::CallRules& rules = policies::calls_of(*caller.policy);
  CO_TRY(ToolOrder order, read_order(environment.work, *all));
  if (caller.calls >= rules.per_execution)
    co_return fail(
        Code::exhausted, fmt::format("this execution has used its {} tool calls", rules.per_execution),
        "ask for more data in one call (a page, a list of ids, a search), or write your results to a file of the "
        "workspace and continue in another execution",
        "calls.per_execution");
  caller.calls++;
  if (caller.notify && caller.calls == calls::first_call_reported(rules.per_execution))
    caller.notify(calls::call_limit_note(caller.calls, rules.per_execution));
  for (const auto& [name, workflow] : caller.workflows)
    if (workflow && order.call.idempotency_key.empty()) order.call.idempotency_key = workflow->next_call_key();
  auto reply = std::make_shared<std::string>();
  calls::ResultTaker take = [reply, select = std::move(order.select)](upstream::ToolValue result, uint64_t,
                                                                      WorkMeter& meter) -> Result<> {
    TRY(*reply, reply_to_code(std::move(result), select, meter));
    return {};
  };
  CO_TRY(const uint64_t bytes,
         co_await calls::call_upstream(environment, caller, std::move(order.call), std::move(take)));
  caller.bytes += bytes;
  if (caller.bytes > rules.bytes)
    co_return fail(Code::exhausted,
                   fmt::format("the results of this execution's calls are more than {} bytes", rules.bytes),
                   "ask for less data, or continue in another execution", "calls.bytes");
  co_return jail::CallReply::of_text(std::move(*reply));
}

// Moves pictures out of the value: image blocks cost a client less than base64 in a text.
void take_images(Json& value, std::vector<mcp::Block>& images) {
  if (value.is_array())
    for (Json& item : value) take_images(item, images);
  if (!value.is_object() || images.size() >= kMaxAnswerImages) return;
  const Json type = value.value("type", Json()), data = value.value("data", Json()),
             mime = value.value("mimeType", Json());
  if (type != "image" || !data.is_string() || !mime.is_string()) return;
  images.push_back(mcp::Image{data.get<std::string>(), mime.get<std::string>()});
  value["data"] = "see the image block";
}

// A job.
Result<mcp::ToolResult> answer_for_client(upstream::ToolValue tool_value, const upstream::Selection& select,
                                          WorkMeter& meter) {
  std::vector<mcp::Block> images;
  Json answer;
  if (!tool_value.failure.is_null()) {
    answer["success"] = false;
    answer["error"] = tool_value.failure["message"];
    answer["code"] = tool_value.failure["code"];
    if (tool_value.failure.contains("data")) answer["data"] = std::move(tool_value.failure["data"]);
  } else {
    TRY(answer["result"], select.apply(std::move(tool_value.value), meter));
    take_images(answer["result"], images);
  }
  if (dump_json(answer).size() > kMaxDirectBytes)
    return fail(Code::exhausted, "the result is larger than 1 MB",
                "name the parts that you need with select, or call the tool from code");
  mcp::ToolResult result = mcp::ToolResult::data(std::move(answer));
  result.is_error = !tool_value.failure.is_null();
  if (!images.empty()) result.structured.reset();  // a client that prefers structured content drops the pictures
  std::move(images.begin(), images.end(), std::back_inserter(result.content));
  return result;
}

Task<Result<mcp::ToolResult>> call_for_agent(calls::CallEnvironment& environment, mcp::RequestContext& context,
                                             const tenants::Requester& requester, Json request) {
  FreedBeside all(&environment.work, std::move(request));
  const calls::CallContext call_context{requester, context};
  CO_TRY(ToolOrder order, read_order(environment.work, *all));
  auto answer = std::make_shared<mcp::ToolResult>();
  calls::ResultTaker take = [answer, select = std::move(order.select)](upstream::ToolValue result, uint64_t,
                                                                       WorkMeter& meter) -> Result<> {
    TRY(*answer, answer_for_client(std::move(result), select, meter));
    return {};
  };
  CO_CHECKED(co_await calls::call_upstream(environment, call_context, std::move(order.call), std::move(take)));
  co_return std::move(*answer);
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
