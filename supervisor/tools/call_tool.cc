#include "supervisor/tools/call_tool.h"

#include <fmt/format.h>

#include <algorithm>

#include "supervisor/base/fields.h"
#include "supervisor/base/json.h"
#include "supervisor/base/large_value.h"
#include "supervisor/base/log.h"
#include "supervisor/tools/call_approval.h"
#include "supervisor/tools/call_pii.h"
#include "supervisor/tools/call_question.h"
#include "supervisor/tools/catalog_answers.h"
#include "supervisor/tools/progress_relay.h"
#include "supervisor/tools/workspace_answers.h"
#include "supervisor/upstream/result_value.h"

namespace tools {
namespace {

constexpr size_t kMaxDirectBytes = 1 << 20;  // of a result that goes to an agent
constexpr size_t kMaxReplyBytes = 63 << 20;  // ... that goes to code: what a guest takes (jail/guest/README.md)
constexpr size_t kMaxShown = 16;             // images

struct Order {
  FreedBeside arguments;
  std::string name, server;
  std::vector<std::string> select;
};

// Takes the arguments out of `asked`.
Result<Order> read_order(JsonWork& json, Json& asked) {
  Fields in(asked, "call_tool");
  Order order{{&json, Json::object()}};
  TRY(order.name, in.string("name", 512));
  TRY(order.server, in.string_or("server", "", 128));
  const Json* arguments = in.find("arguments");
  if (arguments && !arguments->is_object()) return fail(Code::invalid, "call_tool.arguments: not an object");
  TRY(order.select, in.strings_or("select", {}));
  CHECKED(in.done());
  if (arguments) *order.arguments = std::move(asked["arguments"]);
  return order;
}

constexpr uint32_t kFewestTold = 5;  // of a lower limit the refusal says enough

// The call with which four fifths of the limit are used.
uint32_t first_call_told(uint32_t limit) { return limit < kFewestTold ? UINT32_MAX : limit - limit / 5; }

std::string remedy_for_name(const catalog::Catalog& catalog, std::string_view tool, std::string_view server) {
  const std::string advice = did_you_mean(catalog, tool, server);
  return advice.empty() ? "find it with search_tools" : advice + " Otherwise find it with search_tools";
}

// A server of ours by its name; else what the catalogue knows by any name, which may be of a server that is not here.
Result<Target> find_target(const CallEnvironment& environment, const Order& order) {
  const upstream::UpstreamServers& ours = environment.upstream;
  if (const auto server = ours.meant_server(order.server); !server.empty())
    return Target{std::string(server), ours.meant_tool(server, order.name)};
  if (order.server.empty())
    if (auto both = ours.split(order.name)) return Target{both->first, ours.meant_tool(both->first, both->second)};
  const auto catalog = environment.catalog_of();
  const catalog::Named meant = catalog->find(order.name, {}, order.server);
  std::vector<uint32_t> known, tools;
  for (uint32_t number : meant.tools)
    if (catalog->tool(number).kind == catalog::Kind::tool) known.push_back(number);
  for (uint32_t number : known)
    if (environment.upstream.has(catalog->tool(number).server)) tools.push_back(number);
  if (tools.empty()) tools = std::move(known);
  if (tools.empty())
    return fail(Code::not_found, fmt::format("no tool is named '{}'", printable(order.name, 128)),
                remedy_for_name(*catalog, order.name, order.server));
  const catalog::ToolView tool = catalog->tool(tools.front());
  if (tools.size() > 1)
    return fail(Code::invalid, fmt::format("{} tools are named '{}'", tools.size(), printable(order.name, 128)),
                fmt::format("say which: {}__{}", tool.server, tool.name));
  if (!environment.upstream.has(tool.server))
    return fail(Code::unavailable,
                fmt::format("'{}' of '{}' is known, but cannot be called: that server is not among this daemon's "
                            "`servers`",
                            tool.name, tool.server),
                "let your client call it, and hand the answer to the code as context_vars or as a workspace file");
  return Target{std::string(tool.server), std::string(tool.name)};
}

bool looks_into_arguments(const policies::CallRules& rules) {
  return std::any_of(rules.rules.begin(), rules.rules.end(), [](const auto& rule) { return rule.when != nullptr; });
}

// As CallRules::admit(), beside the loop.
Task<Result<policies::CallRules::Decision>> admit_beside(CallEnvironment& environment, const Who& who,
                                                         const Target& target, Json& arguments) {
  const UnderWay<std::string>::One ruled_on(environment.ruled_on, who.tenant->name());
  auto value = std::make_shared<Json>(std::move(arguments));
  std::function<Result<policies::CallRules::Decision>()> job = [value, policy = who.policy, target] {
    return policy->calls.admit(target.server, target.tool, *value);
  };
  JsonWork::Owner owner{who.tenant->name(), who.policy->limits.standard.json_bytes_per_second};
  auto decision = co_await environment.json.run(std::move(owner), 0, std::move(job));
  arguments = std::move(*value);
  co_return decision;
}

// The rules, and whoever they ask. In `arguments` tokens are restored.
Task<Result<>> allow(CallEnvironment& environment, const Who& who, const Target& target, Json& arguments,
                     AuditedCall& audited) {
  const policies::CallRules& rules = who.policy->calls;
  const CallPii pii{environment.vaults, who.tenant->name(), *who.policy};
  Json given;  // what somebody who is asked sees
  if (!rules.restore.empty()) given = arguments;
  CO_CHECKED(co_await restore_arguments(pii, target.server, target.tool, arguments));
  policies::CallRules::Decision decision;
  const bool is_beside = is_large(arguments) || environment.ruled_on.any_of(who.tenant->name());
  if (looks_into_arguments(rules) && is_beside) {
    CO_TRY(decision, co_await admit_beside(environment, who, target, arguments));
  } else {
    CO_TRY(decision, rules.admit(target.server, target.tool, arguments));
  }
  CO_CHECKED(environment.rates.take(who.tenant->account(), rules, target.server, target.tool));
  if (decision.verdict == policies::Verdict::ask) {
    if (rules.restore.empty()) given = arguments;
    CO_TRY(const std::string by, co_await await_approval(environment, who, target, decision, std::move(given)));
    audited.set("approved", by);
  }
  co_return Result<>{};
}

Task<Result<upstream::ServerAnswer>> carry(CallEnvironment& environment, const Who& who, const Target& target,
                                           FreedBeside arguments, upstream::Client::Progress progress,
                                           AuditedCall& audited) {
  const policies::CallRules& rules = who.policy->calls;
  CO_CHECKED(co_await allow(environment, who, target, *arguments, audited));
  const upstream::Caller caller{who.tenant->name(),      who.policy, who.tenant->workspace().directory(),
                                who.tenant->directory(), who.tenant, who.trace};
  auto asking = asking_for(environment, who, target);
  auto answer = co_await environment.upstream.call(caller, target.server, target.tool, std::move(arguments), rules.wall,
                                                   std::move(progress), std::move(asking));
  if (!answer && answer.error().code == Code::not_found && !environment.upstream.has_tool(target.server, target.tool))
    answer.error().hint = remedy_for_name(*environment.catalog_of(), target.tool, target.server);
  if (environment.upstream.writes_workspace(target.server)) who.tenant->workspace().invalidate();
  co_return answer;
}

// Names the span by what the server has, once that is known: what is only asked for may be any text.
class SpanNames {
 public:
  SpanNames(traces::OpenSpan& span, const upstream::UpstreamServers& upstream, const Target& target)
      : span_(span), upstream_(upstream), target_(target) {}
  ~SpanNames() {
    if (!span_.recorded()) return;
    const bool known = upstream_.has_tool(target_.server, target_.tool);
    describe_tool_call(span_, known ? target_.tool : "");
    if (known) span_.rename("tools/call " + target_.tool);
    if (upstream_.has(target_.server)) span_.set("warder.server", target_.server);
  }
  SpanNames(const SpanNames&) = delete;

 private:
  traces::OpenSpan& span_;
  const upstream::UpstreamServers& upstream_;
  const Target& target_;
};

ProgressRelay::Texts texts_for(const Who& who) {
  return tokenises(who.policy->calls) || who.client.response_filter ? ProgressRelay::Texts::dropped
                                                                    : ProgressRelay::Texts::told;
}

// What the server says of how far it is: as the request's own progress, or as a line of the execution's.
void tell_progress(const Who& who, const Target& target, const ProgressRelay::Told& told) {
  if (who.execution.empty()) return who.client.progress(told.value, told.total, told.text);
  if (who.tell) who.tell(progress_line(target.server, target.tool, told));
}

template <class T>
std::shared_ptr<T> shared(T value) {
  return std::make_shared<T>(std::move(value));
}

// What a pure function makes of an answer of so many bytes: beside the loop, where they are many. `parsed`: bytes that
// are read as JSON; the tenant's budget is charged with these.
template <class Function, class T = std::invoke_result_t<Function>>
Task<Result<T>> beside(CallEnvironment& environment, Who who, size_t bytes, size_t parsed, Function function) {
  if (bytes <= JsonWork::kSmall) co_return function();
  std::function<Result<T>()> job = [function = std::move(function)]() -> Result<T> { return function(); };
  JsonWork::Owner owner{who.tenant->name(), who.policy->limits.standard.json_bytes_per_second};
  auto done = co_await environment.json.run(std::move(owner), parsed, std::move(job));
  co_return done;
}

struct Measured {
  upstream::ToolValue told;
  size_t bytes = 0;  // written as JSON
};

// Carries it and writes it down; what it answers is a value by then, and its size known.
Task<Result<upstream::ToolValue>> call_and_record(CallEnvironment& environment, Who who, Order order, uint64_t& bytes) {
  CO_TRY(const Target target, find_target(environment, order));
  traces::OpenSpan span(environment.spans, who.trace, traces::SpanKind::client, "tools/call");
  who.trace = span.context();
  const SpanNames names(span, environment.upstream, target);
  ProgressRelay relay(environment.loop, texts_for(who), [&](const auto& told) { tell_progress(who, target, told); });
  upstream::Client::Progress progress;
  if (who.client.wants_progress())
    progress = [&relay](double value, std::optional<double> total, std::string_view text) {
      relay.take(value, total, text);
    };
  AuditedCall audited(environment.journal, span, who, target, who.execution.empty() ? "call" : "nested call");
  audited.set("arguments", Json::parse(journal::shape_of(*order.arguments)));
  audited.set("verdict", "cancelled");
  auto answer = co_await carry(environment, who, target, std::move(order.arguments), std::move(progress), audited);
  const CallPii pii{environment.vaults, who.tenant->name(), *who.policy};
  if (!answer) {
    Error error = std::move(answer).error();
    audited.set("verdict", code_name(error.code));
    if (!error.rule.empty()) audited.set("rule", error.rule);
    Json what = std::move(error.what);  // may show what was restored
    CO_CHECKED(co_await tokenise_result(environment.loop, pii, what));
    error.what = what.get<std::string>();
    co_return tl::unexpected<Error>(std::move(error));
  }
  const size_t came = answer->bytes;
  auto read = [answer = shared(*std::move(answer)), tool = target.tool,
               schema = environment.upstream.output_schema(target.server, target.tool)] {
    return upstream::value_of(std::move(*answer), tool, schema);
  };
  CO_TRY(upstream::ToolValue told, co_await beside(environment, who, came, came, std::move(read)));
  CO_CHECKED(co_await tokenise_result(environment.loop, pii, told.failure.is_null() ? told.value : told.failure));
  auto measure = [told = shared(std::move(told))] {
    const size_t size = dump_json(told->failure.is_null() ? told->value : told->failure).size();
    return Measured{std::move(*told), size};
  };
  CO_TRY(Measured measured, co_await beside(environment, who, came, 0, std::move(measure)));
  told = std::move(measured.told);
  bytes = measured.bytes;
  audited.set("verdict", told.failure.is_null() ? "ok" : "failed");
  audited.set("bytes", bytes);
  if (told.failure.is_null()) {
    environment.upstream.observe(target.server, target.tool, told.value);
    environment.learning.chosen(*environment.catalog_of(), who.tenant->name(), who.policy->learning,
                                {target.server, target.tool});
  }
  co_return told;
}

Task<Result<jail::CallReply>> call_from_code(CallEnvironment& environment, const GuestCaller& caller, Json asked) {
  FreedBeside all(&environment.json, std::move(asked));
  if (!caller.nested) co_return fail(Code::unavailable, "tools of other servers cannot be called from here");
  NestedCalls& used = *caller.nested;
  const policies::CallRules& rules = used.who.policy->calls;
  CO_TRY(Order order, read_order(environment.json, *all));
  if (used.calls >= rules.per_execution)
    co_return fail(Code::exhausted, fmt::format("this execution has made its {} calls", rules.per_execution),
                   "ask for more in one call (a page, a list of ids, a search), or keep what you have in a file of the "
                   "workspace and go on in another execution",
                   "calls.per_execution");
  used.calls++;
  if (used.who.tell && used.calls == first_call_told(rules.per_execution))
    used.who.tell(told_of_calls(used.calls, rules.per_execution));
  uint64_t bytes = 0;
  const auto paths = std::move(order.select);
  CO_TRY(upstream::ToolValue told, co_await call_and_record(environment, used.who, std::move(order), bytes));
  used.bytes += bytes;
  FreedBeside value(&environment.json, std::move(told.value));  // for where it does not go to the code
  if (used.bytes > rules.bytes)
    co_return fail(Code::exhausted,
                   fmt::format("the results of this execution's calls are more than {} bytes", rules.bytes),
                   "ask for less, or go on in another execution", "calls.bytes");
  if (!told.failure.is_null()) co_return jail::CallReply(Json{{"failure", std::move(told.failure)}}, bytes);
  if (!paths.empty()) {
    auto choose = [whole = shared(std::move(*value)), paths] {
      Measured chosen;
      chosen.told.value = upstream::select(*whole, paths);
      *whole = nullptr;
      chosen.bytes = dump_json(chosen.told.value).size();
      return chosen;
    };
    CO_TRY(Measured chosen, co_await beside(environment, used.who, bytes, 0, std::move(choose)));
    *value = std::move(chosen.told.value);
    bytes = chosen.bytes;
  }
  if (bytes > kMaxReplyBytes)
    co_return fail(Code::exhausted, fmt::format("the result is larger than {} MB", kMaxReplyBytes >> 20),
                   "name what you need of it with select, or ask for less");
  co_return jail::CallReply(Json{{"value", std::move(*value)}}, bytes);
}

// Takes pictures out of the value: as blocks they cost a client less than as base64 in a text.
void take_images(Json& value, std::vector<mcp::Block>& images) {
  if (value.is_array())
    for (Json& one : value) take_images(one, images);
  if (!value.is_object() || images.size() >= kMaxShown) return;
  const Json type = value.value("type", Json()), data = value.value("data", Json()),
             mime = value.value("mimeType", Json());
  if (type != "image" || !data.is_string() || !mime.is_string()) return;
  images.push_back(mcp::Image{data.get<std::string>(), mime.get<std::string>()});
  value["data"] = "see the picture";
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
    return failure(Error{Code::exhausted,
                         0,
                         "the result is larger than 1 MB",
                         "name what you need of it with select, or call it from code, which keeps the rest",
                         {}});
  mcp::ToolResult result = mcp::ToolResult::data(std::move(answer));
  result.is_error = !told.failure.is_null();
  if (!images.empty()) result.structured.reset();  // a client that prefers it would drop the pictures
  std::move(images.begin(), images.end(), std::back_inserter(result.content));
  return result;
}

Task<mcp::ToolResult> call_for_agent(CallEnvironment& environment, mcp::RequestContext& context, Result<Asker> asker,
                                     Json asked) {
  FreedBeside all(&environment.json, std::move(asked));
  if (!asker) co_return failure(asker.error());
  Who who{asker->tenant, asker->policy, context.peer.uid, context.peer.pid, {}, context};
  who.trace = read_trace_context(context.meta);
  auto order = read_order(environment.json, *all);
  if (!order) co_return failure(order.error());
  const auto paths = std::move(order->select);
  uint64_t bytes = 0;
  auto told = co_await call_and_record(environment, who, *std::move(order), bytes);
  if (!told) co_return failure(told.error());
  auto show = [told = shared(*std::move(told)), paths] { return told_to_agent(std::move(*told), paths); };
  auto shown = co_await beside(environment, std::move(who), bytes, 0, std::move(show));
  if (!shown) co_return failure(shown.error());
  co_return *std::move(shown);
}

}  // namespace

mcp::ToolDefinition call_tool_definition() {
  mcp::ToolDefinition tool;
  tool.name = "call_tool";
  tool.description = "Call one tool that search_tools found; several: call them from code.";
  tool.input_schema = Json::parse(R"({
    "type": "object",
    "properties": {
      "name": {"type": "string"},
      "server": {"type": "string"},
      "arguments": {"type": "object"},
      "select": {"type": "array", "items": {"type": "string"}, "description": "Only these of the result: items.title"}
    },
    "required": ["name"]
  })");
  return tool;
}

std::string told_of_calls(uint32_t calls, uint32_t limit) {
  if (calls < first_call_told(limit)) return {};
  return fmt::format("{} of the {} calls of tools that one execution may make are used", calls, limit);
}

void add_call_tool(mcp::Server& server, CallEnvironment& environment, const AskerOf& asker_of) {
  server.add_tool(call_tool_definition(), [&environment, asker_of](mcp::RequestContext& context, Json arguments) {
    return call_for_agent(environment, context, asker_of(context), std::move(arguments));
  });
}

void add_tool_calls(GuestCalls& calls, CallEnvironment& environment) {
  calls.add_large("call_tool", [&environment](const GuestCaller& caller, Json arguments) {
    return call_from_code(environment, caller, std::move(arguments));
  });
}

}  // namespace tools
