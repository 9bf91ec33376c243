#include "supervisor/cluster/link/request_router.h"

#include <algorithm>
#include <array>

#include "policies/policy.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/large_value.h"
#include "supervisor/base/random.h"
#include "supervisor/protocol/mcp/context.h"
#include "supervisor/protocol/mcp/elicitation.h"
#include "supervisor/tenants/requester.h"
#include "supervisor/tenants/tenant.h"

namespace cluster {
namespace {

using namespace std::chrono_literals;

constexpr size_t kMaxConnections = 1024;  // to other nodes
// To find the home of a request and to connect to it, so that the client hears of a failure within 2.5 s.
constexpr auto kReachLimit = 2400ms;
constexpr auto kMaxReopenDelay = 2s;             // after a connection was lost
constexpr auto kSlow = 200ms;                    // a connection that took longer to fail is not tried again
constexpr int kMaxMoves = 50;                    // answers "moved" to one request
constexpr auto kRecheckInterval = 100ms;         // the new home may not be known here yet
constexpr char kExecuteCode[] = "execute_code";  // only calls of this tool have ids
constexpr std::string_view kProtocolKeys = "io.modelcontextprotocol/";  // of this connection, not of the next

constexpr std::array kMethods = {mcp::Method::tools_call,   mcp::Method::resources_list, mcp::Method::resources_read,
                                 mcp::Method::prompts_list, mcp::Method::prompts_get,    mcp::Method::complete,
                                 mcp::Method::extension};

NodeClient client_of(const mcp::RequestContext& context, const std::string& node) {
  const tenants::Member& member = tenants::member_of(context);
  return {node, context.principal.name(), member.tenant->account(), member.policy->name, member.policy->hash};
}

// The _meta for the other node.
Json meta_to_pass(const Json& meta) {
  Json passed = Json::object();
  if (meta.is_object())
    for (const auto& [key, value] : meta.items())
      if (key != "progressToken" && !key.starts_with(kProtocolKeys)) passed[key] = value;
  return passed;
}

// Whether a request is for a stateless execution.
bool is_spread(mcp::Method method, const mcp::RequestContext& context, const Json& params) {
  if (method != mcp::Method::tools_call || !tenants::may_run_anywhere(context.meta)) return false;
  const auto name = params.find("name");
  return name != params.end() && *name == kExecuteCode;
}

bool is_of_node(const mcp::RequestContext& context) { return context.principal.kind() == mcp::Principal::Kind::node; }

// The workspace that a request names. nullopt: the client may not use it.
std::optional<tenants::TenantId> workspace_of(const mcp::RequestContext& context) {
  const tenants::Member& member = tenants::member_of(context);
  tenants::TenantId id{member.tenant->account()};
  if (!context.meta.is_object()) return id;
  const auto named = context.meta.find(tenants::kWorkspaceKey);
  if (named == context.meta.end() || *named == "default") return id;
  if (!named->is_string()) return std::nullopt;
  id.workspace = named->get<std::string>();
  const bool may_use = id.workspace.empty() || member.policy->allows_workspace(id.workspace);
  return may_use ? std::optional(id) : std::nullopt;
}

// No part of the request ran.
FarFailure unavailable(const Error& why, const std::string& node) {
  return {"unavailable", why.what, why.hint, node, false};
}

// A question of the other node, for the person at this node's client.
Task<upstream::Reply> ask_person(Work& work, mcp::RequestContext& context, upstream::Question question) {
  if (question.wants_2025_11_25 && !mcp::has_elicitation_modes(context.version)) co_return upstream::Reply{};
  OneShot<mcp::Elicited> settled(context.loop);
  mcp::ElicitationForm form;
  form.message = question.message;
  form.schema = dump_json(question.schema);
  auto answered = [resolver = settled.resolver()](mcp::Elicited answer) { resolver.resolve(std::move(answer)); };
  const auto request = context.elicit(std::move(form), std::move(answered));
  if (!request) co_return upstream::Reply{};
  mcp::Elicited answer = co_await settled;
  upstream::Reply reply;
  if (answer.action == mcp::Elicited::Action::decline) reply.action = upstream::Reply::Action::decline;
  if (answer.action != mcp::Elicited::Action::accept) co_return reply;
  Work::Owner owner{context.principal.name()};
  auto content = co_await upstream::fitting_content(work, std::move(owner), question, std::move(answer.content));
  if (!content) co_return reply;
  reply.action = upstream::Reply::Action::accept;
  reply.content = *std::move(content);
  co_return reply;
}

}  // namespace

RequestRouter::RequestRouter(Loop& loop, Work& work, LoopShares& shares, NodeLink& link, MoveGate& gate,
                             std::string server)
    : loop_(loop), work_(work), shares_(shares), link_(link), gate_(gate), server_(std::move(server)) {}
RequestRouter::~RequestRouter() = default;

bool RequestRouter::concerns(mcp::Method method, const mcp::RequestContext& context) const {
  return tenants::member_of(context).policy->cluster.is_home_shared &&
         std::find(kMethods.begin(), kMethods.end(), method) != kMethods.end();
}

Task<std::optional<mcp::Answer>> RequestRouter::answer(mcp::Method method, mcp::RequestContext& context, Json& params,
                                                       size_t) {
  ResultForm form{method, context.version, server_, {}};
  const policies::ClusterRules& rules = tenants::member_of(context).policy->cluster;
  if (rules.spreads_stateless && is_spread(method, context, params)) {
    auto answered = co_await answer_stateless(context, params, std::move(form));
    co_return answered;
  }
  const auto workspace = workspace_of(context);
  if (!workspace) co_return std::nullopt;  // the refusal is made here
  std::optional<Request> request;
  for (int moves = 0; moves < kMaxMoves; moves++) {
    if (gate_.is_held(*workspace)) {
      const auto passed = co_await gate_.pass(*workspace);
      if (!passed) co_return write_far_failure(unavailable(passed.error(), link_.node()), form);
    }
    const auto until = Monotonic::now() + kReachLimit;
    const auto home = co_await link_.home_of(*workspace);
    if (gate_.is_held(*workspace)) continue;
    if (home && home->is_here && link_.may_start()) {
      counts_.served += is_of_node(context);
      context.stay = gate_.stay(*workspace);
      co_return std::nullopt;
    }
    if (home && !home->is_here) form.node = home->node;
    if (const auto failure = why_not_passed_on(home, context)) co_return write_far_failure(*failure, form);
    if (!request) {
      auto reserved = co_await take(method, context, params);
      if (!reserved) co_return write_far_failure(unavailable(reserved.error(), form.node), form);
      request = *std::move(reserved);
    }
    auto answered = co_await ask(*request, context, form, until);
    if (answered) co_return answered;
    link_.forget_home(*workspace);
    co_await sleep_for(loop_, kRecheckInterval);
  }
  co_return write_far_failure({"unavailable", "the workspace has moved, and its new home is not known here yet",
                               "send the request again", form.node, false},
                              form);
}

// Why a request that this node does not serve goes to no other node, either; nullopt: it may go to its home.
std::optional<FarFailure> RequestRouter::why_not_passed_on(const Result<Home>& home,
                                                           const mcp::RequestContext& context) {
  if (!home) {
    counts_.homeless++;
    return unavailable(home.error(), link_.node());
  }
  if (home->is_here) {
    counts_.fenced++;
    return FarFailure{"fenced",
                      "it cannot reach the cluster, so another node may take over its workspaces; nothing was started",
                      "send the request again when the node is back", link_.node(), false};
  }
  if (!is_of_node(context)) return std::nullopt;
  counts_.moved++;
  return FarFailure{
      "unavailable", "the workspace has moved to another node", "send the request again", home->node, false, true};
}

Task<Result<RequestRouter::Request>> RequestRouter::take(mcp::Method method, mcp::RequestContext& context,
                                                         const Json& params) {
  Request request;
  request.method = context.method;
  Json meta = meta_to_pass(context.meta);
  if (method == mcp::Method::tools_call) {
    const std::string name = params.value("name", Json()).is_string() ? params["name"].get<std::string>() : "";
    request.is_safe_twice = name == kExecuteCode;
    if (request.is_safe_twice && !meta.contains(kExecutionIdKey)) meta[kExecutionIdKey] = "x-" + random_hex(16);
    Json arguments = params.value("arguments", Json::object());
    if (is_large(arguments)) {
      Work::Owner owner{context.principal.name()};
      CO_TRY(std::string text, co_await dump_beside(work_, std::move(owner), std::move(arguments)));
      request.arguments = std::make_shared<const std::string>(std::move(text));
    } else {
      request.arguments = std::make_shared<const std::string>(dump_json(arguments));
    }
    request.params = {{"name", name}};
  } else {
    request.is_safe_twice = true;
    request.params = params;
    request.params.erase("_meta");
  }
  request.params["_meta"] = std::move(meta);
  co_return request;
}

Task<std::optional<mcp::Answer>> RequestRouter::ask(const Request& request, mcp::RequestContext& context,
                                                    ResultForm form, Monotonic::time_point until) {
  Attempt created = co_await attempt(request, context, form.node, until);
  auto answered = co_await conclude(request, context, std::move(form), std::move(created));
  co_return answered;
}

Task<std::optional<mcp::Answer>> RequestRouter::conclude(const Request& request, mcp::RequestContext& context,
                                                         ResultForm form, Attempt created) {
  const bool was_sent = created.was_sent;
  const bool is_requested_again = !created.answer && (was_sent ? request.is_safe_twice : !created.was_slow);
  if (is_requested_again) created = co_await attempt(request, context, form.node, Monotonic::now() + kMaxReopenDelay);
  const bool is_call = request.method == "tools/call";
  const bool is_first_word = !is_requested_again || !was_sent;
  if (is_first_word && created.answer &&
      says_moved(created.answer->is_error ? created.answer->data : created.answer->result))
    co_return std::nullopt;
  (created.answer ? counts_.answered : was_sent || created.was_sent ? counts_.lost : counts_.unreachable)++;
  if (is_requested_again && was_sent && is_call && created.answer &&
      denies_run(created.answer->is_error ? created.answer->data : created.answer->result)) {
    // The second answer knows nothing of the first order.
    const FarFailure failure{"unavailable", "the connection was lost; asked again, the node did not run it",
                             "check the effects of the call before you send it again", form.node, true};
    co_return write_far_failure(failure, form);
  }
  if (!created.answer) {
    const bool may_have_run = (was_sent || created.was_sent) && is_call;
    const FarFailure failure{
        "unavailable", created.answer.error().what,
        may_have_run ? "check the effects of the call before you send it again" : "send the request again", form.node,
        may_have_run};
    co_return write_far_failure(failure, form);
  }
  if (is_call && !created.answer->is_error) {
    const auto is_error = created.answer->result.find("isError");
    context.is_error = is_error != created.answer->result.end() && *is_error == true;
  }
  Work::Owner owner{context.principal.name()};
  auto written = co_await write(*std::move(created.answer), std::move(owner), std::move(form));
  co_return written;
}

Task<RequestRouter::Attempt> RequestRouter::attempt(const Request& request, mcp::RequestContext& context,
                                                    const std::string& node, Monotonic::time_point until) {
  const auto connection = connection_to(node, client_of(context, link_.node()));
  const FarConnection::Use use(*connection);
  const auto started = Monotonic::now();
  auto client = co_await connection->client(until);
  if (!client) {
    Attempt failed{tl::unexpected<Error>(std::move(client).error()), false, Monotonic::now() - started > kSlow};
    co_return failed;
  }
  upstream::Client::Request order{request.method, request.params};
  order.limit = upstream::RequestClock::kForever;  // the connection is watched
  order.arguments.text = request.arguments;
  if (context.wants_progress())
    order.progress = [&context](double value, std::optional<double> total, std::string_view message) {
      context.progress(value, total, message);
    };
  Attempt done;
  done.was_sent = true;
  if (request.arguments) {
    order.asking.owner_name = context.principal.name();
    order.asking.able = context.can_elicit();
    order.asking.ask = [&work = work_, &context](upstream::Question question) {
      return ask_person(work, context, std::move(question));
    };
    done.answer = co_await (*client)->call(std::move(order));
  } else {
    done.answer = co_await (*client)->request(std::move(order));
  }
  co_return done;
}

Task<mcp::Answer> RequestRouter::write(upstream::ServerAnswer answer, Work::Owner owner, ResultForm form) {
  if (answer.is_error) {
    Json data = std::move(answer.data);
    if (data.is_null()) data = Json::object();
    if (data.is_object()) {
      if (data.erase(std::string(mcp::meta_key::kNotRun)) > 0) data["may_have_run"] = false;
      data["node"] = form.node;
    }
    const mcp::ErrorCode code = far_error_code(answer.code, data, form);
    co_return mcp::refuse(code, std::move(answer.message), std::move(data));
  }
  if (answer.bytes <= Work::kSmall) co_return write_far_result(answer.result, form);
  const auto result = std::make_shared<Json>(std::move(answer.result));
  std::function<Result<mcp::Answer>()> job = [result, form = std::move(form)]() -> Result<mcp::Answer> {
    mcp::Answer written = write_far_result(*result, form);
    *result = {};
    return written;
  };
  auto written = co_await work_.run(std::move(owner), answer.bytes, std::move(job));
  if (!written) co_return tl::unexpected(mcp::rpc_error(written.error()));
  co_return *std::move(written);
}

std::shared_ptr<FarConnection> RequestRouter::connection_to(const std::string& node, NodeClient for_client) {
  Key key{node, std::move(for_client)};
  if (const auto it = connections_.find(key); it != connections_.end()) return it->second;
  upstream::Client::Reading reading{work_, Work::Owner{"node " + node}, shares_.of("node " + node)};
  auto connection = std::make_shared<FarConnection>(loop_, link_, std::move(reading), node, key.second, counts_.hops,
                                                    [this, key] { connections_.erase(key); });
  if (connections_.size() < kMaxConnections) connections_.emplace(std::move(key), connection);
  return connection;
}

}  // namespace cluster
