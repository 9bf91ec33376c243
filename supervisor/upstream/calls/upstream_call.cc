#include "supervisor/upstream/calls/upstream_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "catalog/did_you_mean.h"
#include "policies/call_rules.h"
#include "policies/learning_scope.h"
#include "policies/pii/rules.h"
#include "policies/policy_parts.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_text.h"
#include "supervisor/base/log.h"
#include "supervisor/protocol/mcp/arguments.h"
#include "supervisor/protocol/mcp/context.h"
#include "supervisor/tenants/tenant.h"
#include "supervisor/upstream/calls/call_approval.h"
#include "supervisor/upstream/calls/call_pii.h"
#include "supervisor/upstream/calls/call_question.h"
#include "supervisor/upstream/calls/disk_account.h"
#include "supervisor/upstream/calls/progress_relay.h"

namespace calls {
namespace {

constexpr std::chrono::milliseconds kMaxLoading{1000};  // of stored definitions, in the first moments of a daemon
constexpr uint32_t kMinReported = 5;                    // lower limits have no warning; the refusal is enough

// What the catalogue has under a name. A job makes it: names of servers are compared with it.
struct IntendedByName {
  catalog::Named named;
  std::string remedy;  // if no tool has the name
};

std::string remedy_for_name(const catalog::Catalog& catalog, std::string_view tool, std::string_view server) {
  if (std::string reason = catalog::reason_for_no_tools(catalog); !reason.empty()) return reason;
  const std::string advice = catalog::did_you_mean(catalog, tool, server);
  return advice.empty() ? "find it with search_tools" : advice + " Otherwise find it with search_tools";
}

// The tool on an upstream server of this daemon, by the server's name. Otherwise a tool of the catalog, by any of its
// names; the catalog may also have tools of servers that this daemon does not have.
Task<Result<Target>> find_target(CallEnvironment& environment, const CallContext& context, const UpstreamCall& order) {
  const std::string& tenant = context.tenant->name();
  const upstream::UpstreamServers& ours = environment.upstream;
  if (const auto server = ours.intended_server(order.server); !server.empty())
    co_return Target{std::string(server), ours.intended_tool(tenant, server, order.name)};
  if (order.server.empty())
    if (auto both = ours.split(order.name))
      co_return Target{both->first, ours.intended_tool(tenant, both->first, both->second)};
  const auto catalog = environment.catalog_of();
  std::function<Result<IntendedByName>()> job = [catalog, name = order.name, server = order.server] {
    IntendedByName it{catalog->find(name, {}, server), {}};
    const bool is_tool = std::any_of(it.named.tools.begin(), it.named.tools.end(), [&](uint32_t number) {
      return catalog->tool(number).kind == catalog::ToolKind::tool;
    });
    if (!is_tool) it.remedy = remedy_for_name(*catalog, name, server);
    return it;
  };
  Work::Owner owner = owner_of(context);
  CO_TRY(IntendedByName intended, co_await environment.work.run(std::move(owner), 0, std::move(job)));
  std::vector<uint32_t> known, tools;
  for (uint32_t number : intended.named.tools)
    if (catalog->tool(number).kind == catalog::ToolKind::tool) known.push_back(number);
  for (uint32_t number : known)
    if (environment.upstream.has(catalog->tool(number).server)) tools.push_back(number);
  if (tools.empty()) tools = std::move(known);
  if (tools.empty())
    co_return fail(Code::not_found, fmt::format("no tool is named '{}'", printable(order.name, 128)),
                   std::move(intended.remedy));
  const catalog::ToolView tool = catalog->tool(tools.front());
  if (tools.size() > 1)
    co_return fail(Code::invalid, fmt::format("{} tools are named '{}'", tools.size(), printable(order.name, 128)),
                   fmt::format("name one with its server: {}__{}", tool.server, tool.name));
  if (!environment.upstream.has(tool.server))
    co_return fail(Code::unavailable,
                   fmt::format("'{}' of '{}' is known, but cannot be called: this server is not in the daemon's "
                               "`servers`",
                               tool.name, tool.server),
                   catalog::kRemedyForUncallable);
  co_return Target{std::string(tool.server), std::string(tool.name)};
}

// PreparedCall: the arguments of a call, checked by the rules and by the tool's schema.
struct PreparedCall {
  Json arguments;
  Json with_tokens;  // the arguments before tokens were restored in them; null: the policy has no `restore`
  Json shape;        // for the audit chain; null: not known yet
  policies::CallRules::Decision decision;
  std::optional<upstream::Transport::Arguments> written;  // empty: the tool is not known yet
};

// Gives arguments the types of the tool's schema, as for our own tools: "3" where a number belongs, null for an
// argument that is left out. Before the rules, which then judge what is sent.
void accept_intended(const upstream::KnownTool& tool, Json& arguments) {
  const Json* schema = tool.input_schema();
  if (!schema || !schema->is_object() || !arguments.is_object()) return;
  if (schema->value("additionalProperties", Json(true)) == false) mcp::drop_host_arguments(*schema, arguments);
  mcp::drop_absent(*schema, arguments);
  mcp::accept_intended(*schema, {}, arguments);
}

// A job. The rules come before the schema, so that a denied caller does not see the schema. `tool` and
// `vault` may be nullptr.
Result<> prepare(const policies::Policy& policy, const Target& target, const upstream::KnownTool* tool,
                 policies::PiiVault* vault, PreparedCall& call, WorkMeter& meter) {
  if (tool) accept_intended(*tool, call.arguments);
  TRY(call.shape, parse_own_json(journal::shape_of(call.arguments)));
  if (vault) {
    call.with_tokens = call.arguments;
    CHECKED(restore_arguments(policies::calls_of(policy), *vault, target.server, target.tool, call.arguments, meter));
  }
  TRY(call.decision, policies::calls_of(policy).admit(target.server, target.tool, call.arguments, meter));
  if (!tool) return {};
  TRY(call.written, tool->write(call.arguments, meter));
  return {};
}

Task<Result<std::shared_ptr<PreparedCall>>> prepare_in_turn(CallEnvironment& environment, const CallContext& context,
                                                            const Target& target, Json arguments,
                                                            AuditedCall& audited) {
  auto call = std::make_shared<PreparedCall>();
  call->arguments = std::move(arguments);
  privacy::PiiVaults::VaultPtr vault;
  if (!policies::calls_of(*context.policy).restore.empty()) {
    CO_TRY(vault, co_await vault_of(environment, context));
  }
  std::function<Result<std::monostate>(WorkMeter&)> job =
      [call, vault, target, policy = context.policy,
       tool = environment.upstream.known_tool(context.tenant->name(), target.server, target.tool)](
          WorkMeter& meter) -> Result<std::monostate> {
    CHECKED(prepare(*policy, target, tool.get(), vault.get(), *call, meter));
    return std::monostate{};
  };
  Work::Owner owner = owner_of(context);
  auto prepared = co_await environment.work.run(std::move(owner), 0, std::move(job));
  if (!call->shape.is_null()) audited.set("arguments", std::move(call->shape));
  if (!prepared) co_return tl::unexpected<Error>(std::move(prepared).error());
  co_return call;
}

// Waits for the rates and for an approval, if a rule demands one.
Task<Result<>> allow(CallEnvironment& environment, const CallContext& context, const Target& target, PreparedCall& call,
                     AuditedCall& audited) {
  const policies::CallRules& rules = policies::calls_of(*context.policy);
  CO_CHECKED(environment.rates.take(context.tenant->account(), rules, target.server, target.tool));
  if (call.decision.verdict != policies::Verdict::ask) co_return Result<>{};
  Json params = rules.restore.empty() ? call.arguments : std::move(call.with_tokens);
  CO_TRY(const std::string by,
         co_await await_approval(environment, context, target, call.decision, std::move(params), call.arguments));
  audited.set("approved", by);
  co_return Result<>{};
}

// OpenTenant: a tenant whose folders an upstream server uses.
struct OpenTenant : upstream::FolderOwner {
  explicit OpenTenant(std::shared_ptr<tenants::Tenant> of) : tenant(std::move(of)) {}
  const std::shared_ptr<tenants::Tenant> tenant;
};

upstream::Caller upstream_caller(const CallContext& context, std::string idempotency_key) {
  tenants::Tenant& tenant = *context.tenant;
  return {tenant.name(),
          context.policy,
          tenant.workspace().directory(),
          tenant.directory(),
          std::make_shared<OpenTenant>(context.tenant),
          [of = context.tenant](std::string owner) { return disk_account_of(of, std::move(owner)); },
          context.trace,
          std::move(idempotency_key)};
}

// The answer to a call of a tool that its server does not have. Similar names are looked for in a job.
Task<Error> no_such_tool(CallEnvironment& environment, const CallContext& context, const Target& target) {
  std::function<Result<std::string>()> job = [catalog = environment.catalog_of(), target]() -> Result<std::string> {
    return remedy_for_name(*catalog, target.tool, target.server);
  };
  Work::Owner owner = owner_of(context);
  auto remedy = co_await environment.work.run(std::move(owner), 0, std::move(job));
  if (!remedy) co_return std::move(remedy).error();
  const auto own = environment.upstream.own_tools(context.tenant->name(), target.server);
  if (!own.empty()) remedy = printable(fmt::format("on your files it has: {}", fmt::join(own, ", ")), 1000);
  co_return Error{Code::not_found,
                  0,
                  fmt::format("server '{}' has no tool '{}'", target.server, printable(target.tool, 128)),
                  *std::move(remedy),
                  {}};
}

Task<Result<upstream::ServerAnswer>> carry(CallEnvironment& environment, const CallContext& context,
                                           const Target& target, UpstreamCall order,
                                           upstream::Client::Progress progress, AuditedCall& audited) {
  const upstream::Caller caller = upstream_caller(context, std::move(order.idempotency_key));
  CO_TRY(auto call, co_await prepare_in_turn(environment, context, target, std::move(*order.arguments), audited));
  if (!call->written) {
    // The tool is unknown. What the rules do not deny may start the server; the rules then judge the arguments once
    // more, as they may get the types of the tool's schema.
    CO_CHECKED(co_await environment.upstream.make_known(caller, target.server));
    Json arguments = std::move(call->with_tokens.is_null() ? call->arguments : call->with_tokens);
    CO_TRY(call, co_await prepare_in_turn(environment, context, target, std::move(arguments), audited));
  }
  if (!call->written) {
    Error error = co_await no_such_tool(environment, context, target);
    co_return tl::unexpected<Error>(std::move(error));
  }
  CO_CHECKED(co_await allow(environment, context, target, *call, audited));
  auto asking = asking_for(environment, context, target);
  auto answer = co_await environment.upstream.call(caller, target.server, target.tool, *std::move(call->written),
                                                   policies::calls_of(*context.policy).wall, std::move(progress),
                                                   std::move(asking));
  if (environment.upstream.writes_workspace(target.server)) context.tenant->workspace().invalidate();
  co_return answer;
}

// ReceivedResult: the result of a call, as a job leaves it.
struct ReceivedResult {
  uint64_t bytes = 0;
  bool is_failure = false, is_new_form = false;  // is_new_form: the observed results of the server have changed
};

// A job. `tool` and `vault` may be nullptr.
Result<ReceivedResult> receive(upstream::ServerAnswer answer, const upstream::KnownTool* tool,
                               upstream::ObservedResults* observed, const policies::Policy& policy,
                               policies::PiiVault* vault, const ResultTaker& take, WorkMeter& meter) {
  ReceivedResult received;
  upstream::ToolValue result = tool ? upstream::value_of(std::move(answer), tool->name(), tool->output_schema())
                                    : upstream::value_of(std::move(answer));
  received.is_failure = !result.failure.is_null();
  Json& value = received.is_failure ? result.failure : result.value;
  if (vault) CHECKED(policies::sanitize_value(value, *policies::pii_of(policy).detector, *vault, meter));
  if (observed && !received.is_failure) received.is_new_form = observed->see(tool->name(), value);
  received.bytes = dump_json(value).size();
  CHECKED(take(std::move(result), received.bytes, meter));
  return received;
}

Task<Result<ReceivedResult>> receive_in_turn(CallEnvironment& environment, const CallContext& context,
                                             const Target& target, upstream::ServerAnswer answer, ResultTaker take) {
  privacy::PiiVaults::VaultPtr vault;
  if (tokenises(policies::calls_of(*context.policy))) {
    CO_TRY(vault, co_await vault_of(environment, context));
  }
  auto tool = environment.upstream.known_tool(context.tenant->name(), target.server, target.tool);
  auto observed = tool ? environment.upstream.observed_results(target.server, *tool) : nullptr;
  const size_t bytes = answer.bytes > Work::kSmall ? answer.bytes : 0;  // a short one costs no budget
  std::function<Result<ReceivedResult>(WorkMeter&)> job =
      [reserved = std::make_shared<upstream::ServerAnswer>(std::move(answer)), tool = std::move(tool),
       observed = std::move(observed), policy = context.policy, vault, take = std::move(take)](WorkMeter& meter) {
        return receive(std::move(*reserved), tool.get(), observed.get(), *policy, vault.get(), take, meter);
      };
  Work::Owner owner = owner_of(context);
  CO_TRY(const ReceivedResult received, co_await environment.work.run(std::move(owner), bytes, std::move(job)));
  if (vault) CO_CHECKED(co_await vault->settle());
  if (received.is_new_form) environment.upstream.results_changed(target.server);
  co_return received;
}

// Names the span after the tool at the call's end, if the server has that tool. A name that a caller asked for may be
// any text, and must not leave the machine in a span.
class SpanNames {
 public:
  SpanNames(spans::OpenSpan& span, const upstream::UpstreamServers& upstream, const CallContext& context,
            const Target& target)
      : span_(span), upstream_(upstream), tenant_(context.tenant->name()), target_(target) {}
  ~SpanNames() {
    if (!span_.recorded()) return;
    const bool is_known_tool = upstream_.known_tool(tenant_, target_.server, target_.tool) != nullptr;
    describe_tool_call(span_, is_known_tool ? target_.tool : "");
    if (is_known_tool) span_.rename("tools/call " + target_.tool);
    if (upstream_.has(target_.server)) span_.set("warder.server", target_.server);
  }
  SpanNames(const SpanNames&) = delete;

 private:
  spans::OpenSpan& span_;
  const upstream::UpstreamServers& upstream_;
  const std::string tenant_;
  const Target& target_;
};

ProgressRelay::Texts texts_for(const CallContext& context) {
  return tokenises(policies::calls_of(*context.policy)) || context.client.response_filter
             ? ProgressRelay::Texts::dropped
             : ProgressRelay::Texts::passed;
}

// Passes the server's progress on: for a direct call as the request's progress, for code as a line of its execution's.
void report_progress(const CallContext& context, const Target& target, const ProgressRelay::Value& report) {
  if (context.execution.empty()) return context.client.progress(report.value, report.total, report.text);
  if (context.notify) context.notify(progress_line(target.server, target.tool, report));
}

}  // namespace

uint32_t first_call_reported(uint32_t limit) { return limit < kMinReported ? UINT32_MAX : limit - limit / 5; }

std::string call_limit_note(uint32_t calls, uint32_t limit) {
  if (calls < first_call_reported(limit)) return {};
  return fmt::format("this execution has used {} of its {} tool calls", calls, limit);
}

Task<Result<uint64_t>> call_upstream(CallEnvironment& environment, CallContext context, UpstreamCall order,
                                     ResultTaker take) {
  co_await environment.upstream.loaded(kMaxLoading);
  CO_TRY(const Target target, co_await find_target(environment, context, order));
  spans::OpenSpan span(environment.spans, context.trace, spans::SpanKind::client, "tools/call");
  context.trace = span.context();
  const SpanNames names(span, environment.upstream, context, target);
  ProgressRelay relay(environment.loop, texts_for(context),
                      [&](const auto& report) { report_progress(context, target, report); });
  upstream::Client::Progress progress;
  if (context.client.wants_progress())
    progress = [&relay](double value, std::optional<double> total, std::string_view text) {
      relay.take(value, total, text);
    };
  AuditedCall audited(environment.journal, span, context, target, context.execution.empty() ? "call" : "nested call");
  audited.set("verdict", "cancelled");
  auto answer = co_await carry(environment, context, target, std::move(order), std::move(progress), audited);
  if (!answer) {
    Error error = std::move(answer).error();
    audited.set("verdict", code_name(error.code));
    if (!error.rule.empty()) audited.set("rule", error.rule);
    if (tokenises(policies::calls_of(*context.policy))) {  // the message may hold restored personal data
      CO_TRY(const Json subject, co_await tokenise_values(environment, context, Json(std::move(error.what))));
      error.what = subject.get<std::string>();
    }
    co_return tl::unexpected<Error>(std::move(error));
  }
  auto received = co_await receive_in_turn(environment, context, target, *std::move(answer), std::move(take));
  if (!received) {
    audited.set("verdict", code_name(received.error().code));
    co_return tl::unexpected<Error>(std::move(received).error());
  }
  audited.set("verdict", received->is_failure ? "failed" : "ok");
  audited.set("bytes", received->bytes);
  if (!received->is_failure)
    environment.learning.chosen(*environment.catalog_of(), context.tenant->name(),
                                policies::learning_of(*context.policy), {target.server, target.tool});
  co_return received->bytes;
}

}  // namespace calls
