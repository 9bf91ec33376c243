#include "supervisor/calls/upstream_call.h"

#include <fmt/format.h>

#include <algorithm>

#include "catalog/did_you_mean.h"
#include "supervisor/base/json.h"
#include "supervisor/base/json_text.h"
#include "supervisor/base/log.h"
#include "supervisor/calls/beside_loop.h"
#include "supervisor/calls/call_approval.h"
#include "supervisor/calls/call_pii.h"
#include "supervisor/calls/call_question.h"
#include "supervisor/calls/progress_relay.h"
#include "supervisor/mcp/arguments.h"

namespace calls {
namespace {

constexpr uint32_t kMinTold = 5;  // lower limits have no warning; the refusal is enough

std::string remedy_for_name(const catalog::Catalog& catalog, std::string_view tool, std::string_view server) {
  if (std::string reason = catalog::reason_for_no_tools(catalog); !reason.empty()) return reason;
  const std::string advice = catalog::did_you_mean(catalog, tool, server);
  return advice.empty() ? "find it with search_tools" : advice + " Otherwise find it with search_tools";
}

// Gives arguments the types of the tool's schema, as for our own tools: "3" where a number belongs, null for an
// argument that is left out. Before the rules, which then judge what is sent. Large arguments are sent as they are.
void take_as_meant(const upstream::UpstreamServers& servers, const Target& target, Json& arguments) {
  const Json* schema = servers.input_schema(target.server, target.tool);
  if (!schema || !arguments.is_object() || is_large(arguments)) return;
  if (schema->value("additionalProperties", Json(true)) == false) mcp::drop_host_arguments(*schema, arguments);
  mcp::drop_absent(*schema, arguments);
  mcp::take_as_meant(*schema, {}, arguments);
}

// The tool on an upstream server of this daemon, by the server's name. Otherwise a tool of the catalog, by any of its
// names; the catalog may also have tools of servers that this daemon does not have.
Result<Target> find_target(const CallEnvironment& environment, const UpstreamCall& order) {
  const upstream::UpstreamServers& ours = environment.upstream;
  if (const auto server = ours.meant_server(order.server); !server.empty())
    return Target{std::string(server), ours.meant_tool(server, order.name)};
  if (order.server.empty())
    if (auto both = ours.split(order.name)) return Target{both->first, ours.meant_tool(both->first, both->second)};
  const auto catalog = environment.catalog_of();
  const catalog::Named meant = catalog->find(order.name, {}, order.server);
  std::vector<uint32_t> known, tools;
  for (uint32_t number : meant.tools)
    if (catalog->tool(number).kind == catalog::ToolKind::tool) known.push_back(number);
  for (uint32_t number : known)
    if (environment.upstream.has(catalog->tool(number).server)) tools.push_back(number);
  if (tools.empty()) tools = std::move(known);
  if (tools.empty())
    return fail(Code::not_found, fmt::format("no tool is named '{}'", printable(order.name, 128)),
                remedy_for_name(*catalog, order.name, order.server));
  const catalog::ToolView tool = catalog->tool(tools.front());
  if (tools.size() > 1)
    return fail(Code::invalid, fmt::format("{} tools are named '{}'", tools.size(), printable(order.name, 128)),
                fmt::format("name one with its server: {}__{}", tool.server, tool.name));
  if (!environment.upstream.has(tool.server))
    return fail(Code::unavailable,
                fmt::format("'{}' of '{}' is known, but cannot be called: this server is not in the daemon's "
                            "`servers`",
                            tool.name, tool.server),
                catalog::kRemedyForUncallable);
  return Target{std::string(tool.server), std::string(tool.name)};
}

bool looks_into_arguments(const policies::CallRules& rules) {
  return std::any_of(rules.rules.begin(), rules.rules.end(), [](const auto& rule) { return rule.when != nullptr; });
}

// CallRules::admit() on a thread of JsonWork.
Task<Result<policies::CallRules::Decision>> admit_beside(CallEnvironment& environment, const CallContext& who,
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

// Applies the rules and the rates, and waits for an approval if a rule demands one. Restores tokens in `arguments`.
Task<Result<>> allow(CallEnvironment& environment, const CallContext& who, const Target& target, Json& arguments,
                     AuditedCall& audited) {
  const policies::CallRules& rules = who.policy->calls;
  const CallPii pii{environment.vaults, who.tenant->id(), *who.policy};
  Json given;  // the arguments to show to a person, with tokens
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
    CO_TRY(const std::string by,
           co_await await_approval(environment, who, target, decision, std::move(given), arguments));
    audited.set("approved", by);
  }
  co_return Result<>{};
}

// OpenTenant: a tenant whose folders an upstream server uses.
struct OpenTenant : upstream::FolderOwner {
  explicit OpenTenant(std::shared_ptr<tenants::Tenant> of) : tenant(std::move(of)) {}
  const std::shared_ptr<tenants::Tenant> tenant;
};

upstream::Caller upstream_caller(const CallContext& who, std::string idempotency_key) {
  tenants::Tenant& tenant = *who.tenant;
  return {tenant.name(),
          who.policy,
          tenant.workspace().directory(),
          tenant.directory(),
          std::make_shared<OpenTenant>(who.tenant),
          who.trace,
          std::move(idempotency_key)};
}

Task<Result<upstream::ServerAnswer>> carry(CallEnvironment& environment, const CallContext& who, const Target& target,
                                           UpstreamCall order, upstream::Client::Progress progress,
                                           AuditedCall& audited) {
  const policies::CallRules& rules = who.policy->calls;
  CO_CHECKED(co_await allow(environment, who, target, *order.arguments, audited));
  const upstream::Caller caller = upstream_caller(who, std::move(order.idempotency_key));
  auto asking = asking_for(environment, who, target);
  auto answer = co_await environment.upstream.call(caller, target.server, target.tool, std::move(order.arguments),
                                                   rules.wall, std::move(progress), std::move(asking));
  if (!answer && answer.error().code == Code::not_found && !environment.upstream.has_tool(target.server, target.tool))
    answer.error().hint = remedy_for_name(*environment.catalog_of(), target.tool, target.server);
  if (environment.upstream.writes_workspace(target.server)) who.tenant->workspace().invalidate();
  co_return answer;
}

// Names the span after the tool at the call's end, if the server has that tool. A name that a caller asked for may be
// any text, and must not leave the machine in a span.
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

ProgressRelay::Texts texts_for(const CallContext& who) {
  return tokenises(who.policy->calls) || who.client.response_filter ? ProgressRelay::Texts::dropped
                                                                    : ProgressRelay::Texts::passed;
}

// Passes the server's progress on: for a direct call as the request's progress, for code as a line of its execution's.
void tell_progress(const CallContext& who, const Target& target, const ProgressRelay::Value& told) {
  if (who.execution.empty()) return who.client.progress(told.value, told.total, told.text);
  if (who.tell) who.tell(progress_line(target.server, target.tool, told));
}

}  // namespace

uint32_t first_call_told(uint32_t limit) { return limit < kMinTold ? UINT32_MAX : limit - limit / 5; }

std::string told_of_calls(uint32_t calls, uint32_t limit) {
  if (calls < first_call_told(limit)) return {};
  return fmt::format("this execution has used {} of its {} tool calls", calls, limit);
}

Task<Result<upstream::ToolValue>> call_upstream(CallEnvironment& environment, CallContext who, UpstreamCall order,
                                                uint64_t& bytes) {
  CO_TRY(const Target target, find_target(environment, order));
  take_as_meant(environment.upstream, target, *order.arguments);
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
  audited.set("arguments", parse_own_json(journal::shape_of(*order.arguments)).value());
  audited.set("verdict", "cancelled");
  auto answer = co_await carry(environment, who, target, std::move(order), std::move(progress), audited);
  const CallPii pii{environment.vaults, who.tenant->id(), *who.policy};
  if (!answer) {
    Error error = std::move(answer).error();
    audited.set("verdict", code_name(error.code));
    if (!error.rule.empty()) audited.set("rule", error.rule);
    Json what = std::move(error.what);  // may hold restored personal data
    CO_CHECKED(co_await tokenise_result(environment.loop, pii, what));
    error.what = what.get<std::string>();
    co_return tl::unexpected<Error>(std::move(error));
  }
  const size_t came = answer->bytes;
  auto read = [answer = shared_value(*std::move(answer)), tool = target.tool,
               schema = environment.upstream.output_schema(target.server, target.tool)] {
    return upstream::value_of(std::move(*answer), tool, schema);
  };
  CO_TRY(upstream::ToolValue told, co_await run_beside(environment, who, came, came, std::move(read)));
  CO_CHECKED(co_await tokenise_result(environment.loop, pii, told.failure.is_null() ? told.value : told.failure));
  auto measure = [told = shared_value(std::move(told))] {
    const size_t size = dump_json(told->failure.is_null() ? told->value : told->failure).size();
    return Measured{std::move(*told), size};
  };
  CO_TRY(Measured measured, co_await run_beside(environment, who, came, 0, std::move(measure)));
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

}  // namespace calls
