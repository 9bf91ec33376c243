#include "supervisor/tools/proposals/commit_workspace.h"

#include <fmt/format.h>

#include "policies/call_rules.h"
#include "policies/policy_parts.h"
#include "policies/staging_rules.h"
#include "supervisor/base/json/fields.h"
#include "supervisor/tenants/proposals/proposal_json.h"
#include "supervisor/upstream/calls/audited_call.h"
#include "supervisor/upstream/calls/call_approval.h"

namespace tools {
namespace {

using policies::CommitBy;
using StorePtr = std::shared_ptr<proposals::ProposalStore>;

constexpr size_t kMaxPaths = 1000;
constexpr size_t kDiffOfQuestion = 64 << 10;  // bytes: more than a person is shown, so that a cut one never is

struct CommitOrder {
  std::string proposal, action;
  std::vector<std::string> paths;
};

Result<CommitOrder> read_commit_order(const Json& arguments) {
  Fields in(arguments, "commit_workspace");
  CommitOrder order;
  TRY(order.proposal, in.string("proposal", 64));
  TRY(order.action, in.one_of("action", {"commit", "discard", "undo"}, "commit"));
  TRY(order.paths, in.strings_or("paths", {}));
  CHECKED(in.done());
  if (order.paths.size() > kMaxPaths)
    return fail(Code::invalid, fmt::format("paths: {} are more than {}", order.paths.size(), kMaxPaths),
                "name folders, or leave `paths` out to commit all changes");
  if (!order.paths.empty() && order.action != "commit")
    return fail(Code::invalid, "paths: only a commit can take a part of a proposal", "leave `paths` out");
  for (std::string& path : order.paths)
    if (path.starts_with("/workspace/")) path.erase(0, sizeof "/workspace/" - 1);
  return order;
}

// What a person is asked: all that the action would change. A long difference is shown by `warder diff`.
Json question_of(const CommitOrder& order, const proposals::Proposal& proposal, const std::string& diff) {
  Json output = {{"proposal", order.proposal}, {"action", order.action}, {"files", staged_files_json(proposal.files)}};
  if (!order.paths.empty()) output["paths"] = order.paths;
  output["diff"] = diff;
  if (!calls::shown_arguments(output)) output["diff"] = "too long to be shown here: warder diff " + order.proposal;
  if (!calls::shown_arguments(output)) output["files"] = "too many to be shown here: warder diff " + order.proposal;
  return output;
}

// Returns if the action may be done.
Task<Result<>> await_commit_approval(calls::CallEnvironment& environment, const calls::CallContext& context,
                                     const CommitOrder& order, const proposals::Proposal& proposal, StorePtr store) {
  spans::OpenSpan span(environment.spans, context.trace, spans::SpanKind::internal, "approval");
  calls::AuditedCall audited(environment.journal, span, context, {"warder", "commit_workspace"}, "approval");
  CO_TRY(const std::string diff, co_await store->diff(order.proposal, kDiffOfQuestion));
  const Json exact = question_of(order, proposal, diff);
  calls::PersonsQuestion question{"warder.commit_workspace", "workspace.commit", "the policy asks before each commit",
                                  exact};
  CO_TRY(const calls::ApprovalVerdict verdict,
         co_await ask_person(environment, context, audited, std::move(question), exact));
  if (verdict.kind == calls::ApprovalVerdict::Kind::approved) co_return Result<>{};
  co_return fail(Code::denied,
                 fmt::format("the {} of {} {}", order.action, order.proposal,
                             calls::cause_of(verdict, policies::calls_of(*context.policy).approval.expires)),
                 fmt::format("ask the administrator: warder {} {}", order.action, order.proposal), "workspace.commit");
}

// An answer that says no: the workspace is as before.
mcp::ToolResult conflict_answer(const std::string& action, const proposals::PathConflicts& conflicts,
                                const proposals::Proposal& proposal) {
  Json report = {{"success", false},
                 {"error", fmt::format("the {} did not happen: other programs have changed these files", action)},
                 {"code", "conflict"},
                 {"remedy", "read the files again and run the program again, or commit the other files with `paths`"},
                 {"conflicts", conflicts_json(conflicts)},
                 {"proposal", proposal_json(proposal, {})}};
  mcp::ToolResult result = mcp::ToolResult::data(std::move(report));
  result.is_error = true;
  return result;
}

mcp::ToolResult done_answer(uint64_t steps, const proposals::Proposal& proposal) {
  return mcp::ToolResult::data({{"success", true},
                                {"steps", steps},
                                {"files", staged_files_json(proposal.files)},
                                {"proposal", proposal_json(proposal, {})}});
}

Task<Result<mcp::ToolResult>> act(proposals::ProposalStores& stores, std::shared_ptr<tenants::Tenant> tenant,
                                  StorePtr store, CommitOrder order) {
  if (order.action == "discard") {
    CO_TRY(const proposals::Proposal proposal, co_await stores.discard(tenant, store, order.proposal));
    co_return mcp::ToolResult::data({{"success", true}, {"proposal", proposal_json(proposal, {})}});
  }
  if (order.action == "undo") {
    CO_TRY(const proposals::UndoReport undone, co_await stores.undo(tenant, store, order.proposal));
    if (!undone.is_undone) co_return conflict_answer(order.action, undone.conflicts, undone.proposal);
    co_return done_answer(undone.steps, undone.proposal);
  }
  CO_TRY(const proposals::CommitReport report,
         co_await stores.commit(tenant, store, order.proposal, std::move(order.paths)));
  if (!report.is_committed) co_return conflict_answer(order.action, report.conflicts, report.proposal);
  co_return done_answer(report.steps, report.proposal);
}

Task<Result<mcp::ToolResult>> commit_workspace(calls::CallEnvironment& environment, proposals::ProposalStores& stores,
                                               mcp::RequestContext& client, const tenants::Requester& requester,
                                               Json arguments) {
  CO_TRY(CommitOrder order, read_commit_order(arguments));
  const policies::StagingRules& rules = policies::staging_of(*requester.policy);
  if (!rules.offers())
    co_return fail(Code::denied, fmt::format("policy '{}' stages no workspaces", policies::name_of(*requester.policy)),
                   "ask the administrator to set workspace.choose", "workspace.mode");
  CO_TRY(StorePtr store, co_await stores.of(requester.tenant, rules));
  CO_TRY(const proposals::Proposal proposal, store->find(order.proposal));
  if (rules.commit == CommitBy::ask && order.action != "discard") {
    const calls::CallContext context{requester, client};
    CO_CHECKED(co_await await_commit_approval(environment, context, order, proposal, store));
  }
  auto answer = co_await act(stores, requester.tenant, std::move(store), std::move(order));
  co_return answer;
}

}  // namespace

mcp::ToolDefinition commit_workspace_definition() {
  mcp::ToolDefinition tool;
  tool.name = "commit_workspace";
  tool.description = "Commit, discard or undo a staged proposal.";
  tool.input_schema = Json::parse(R"({
    "type": "object",
    "properties": {
      "proposal": {"type": "string"},
      "action": {"type": "string", "enum": ["commit", "discard", "undo"]},
      "paths": {"type": "array", "items": {"type": "string"}}
    },
    "required": ["proposal"]
  })");
  return tool;
}

bool offers_commit(const policies::Policy& policy) { return policies::staging_of(policy).offers(); }

void add_commit_workspace(const OperationRegistry& registry, calls::CallEnvironment& calls,
                          proposals::ProposalStores& stores) {
  auto work = [&calls, &stores](mcp::RequestContext& client, const tenants::Requester& requester, Json arguments) {
    return commit_workspace(calls, stores, client, requester, std::move(arguments));
  };
  registry.add({commit_workspace_definition(), work, nullptr});
}

}  // namespace tools
