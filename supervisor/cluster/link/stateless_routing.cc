// The part of RequestRouter for executions that declare themselves stateless: any node may run them.
#include <algorithm>

#include "supervisor/cluster/link/request_router.h"
#include "supervisor/cluster/placement/place.h"
#include "supervisor/protocol/mcp/context.h"
#include "supervisor/tenants/requester.h"
#include "supervisor/tenants/tenant.h"

namespace cluster {
namespace {

using namespace std::chrono_literals;

// For the connections of one execution: in all, to one of the nodes, and to one at the end of the time.
constexpr auto kReachAllLimit = 2s, kReachOneLimit = 1s;
constexpr auto kReachLeast = 200ms;

NodeReport report_of(const NodeLoad& load) {
  NodeReport report;
  report.used = load.running;
  report.waiting = load.waiting;
  report.slots = load.slots;
  report.drained = load.is_drained;
  return report;
}

}  // namespace

Task<std::optional<mcp::Answer>> RequestRouter::answer_stateless(mcp::RequestContext& context, const Json& params,
                                                                 ResultForm form) {
  const bool is_of_node = context.principal.kind() == mcp::Principal::Kind::node;
  const bool has_own_id = !is_of_node && context.meta.contains(kExecutionIdKey);
  if (has_own_id || context.meta.contains(tenants::kWorkspaceKey)) co_return std::nullopt;  // refused here
  if (is_of_node) co_return answer_spread(form);
  auto answered = co_await spread(context, params, std::move(form));
  co_return answered;
}

// Without warder-node, and where no other node takes it, it runs here.
Task<std::optional<mcp::Answer>> RequestRouter::spread(mcp::RequestContext& context, const Json& params,
                                                       ResultForm form) {
  const NodeReport here = report_of(link_.load());
  const bool is_free = !here.drained && here.used + here.waiting < here.slots;
  const auto positions = co_await link_.slots_for(tenants::member_of(context).tenant->account(), is_free);
  if (!positions || positions->front() == link_.node()) co_return std::nullopt;
  auto request = co_await take(form.method, context, params);
  if (!request)
    co_return write_far_failure({"unavailable", request.error().what, request.error().hint, {}, false}, form);
  std::optional<Attempt> refused;
  const auto until = Monotonic::now() + kReachAllLimit;
  for (const std::string& node : *positions) {
    if (node == link_.node()) co_return std::nullopt;
    form.node = node;
    const auto now = Monotonic::now();
    const auto longest = std::clamp<Monotonic::duration>(until - now, kReachLeast, kReachOneLimit);
    Attempt created = co_await attempt(*request, context, node, now + longest);
    if (!created.answer && !created.was_sent) {
      counts_.unreachable++;
      continue;
    }
    if (created.answer && denies_run(created.answer->is_error ? created.answer->data : created.answer->result)) {
      counts_.busy_there++;
      refused = std::move(created);
      continue;
    }
    auto answered = co_await conclude(*request, context, std::move(form), std::move(created));
    co_return answered;
  }
  if (takes_run(here)) co_return std::nullopt;
  if (refused) {
    auto answered = co_await conclude(*request, context, std::move(form), *std::move(refused));
    co_return answered;
  }
  co_return write_far_failure({"unavailable",
                               "no node that was asked can be reached, and this one is full",
                               "send the request again later",
                               {},
                               false},
                              form);
}

// For a client of another node, which asks the next node after a refusal. nullopt: this node runs it.
std::optional<mcp::Answer> RequestRouter::answer_spread(const ResultForm& form) {
  if (takes_run(report_of(link_.load()))) {
    counts_.served++;
    return std::nullopt;
  }
  counts_.busy_here++;
  return write_far_failure(
      {"exhausted", "it runs too many executions already", "send the request to another node", link_.node(), false},
      form);
}

}  // namespace cluster
