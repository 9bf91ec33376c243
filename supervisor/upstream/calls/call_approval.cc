#include "supervisor/upstream/calls/call_approval.h"

#include <fmt/format.h>

#include "policies/call_rules.h"
#include "policies/policy_parts.h"
#include "supervisor/base/json/exact_number.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_text.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/log.h"
#include "supervisor/tenants/tenant.h"
#include "supervisor/upstream/calls/call_pii.h"
#include "supervisor/upstream/calls/freeze_guard.h"

namespace calls {
namespace {

constexpr size_t kMaxListedArguments = 16'000;  // characters

// False: the value takes more than `remaining` characters. Examines no more than about `remaining` characters of a
// large value.
bool may_fit(const Json& value, size_t& remaining) {
  const size_t takes = value.is_string()        ? 1 + value.get_ref<const std::string&>().size()
                       : is_exact_number(value) ? 1 + value.get_binary().size()
                                                : 1;
  if (takes > remaining) return false;
  remaining -= takes;
  if (!value.is_structured()) return true;
  for (auto part = value.begin(); part != value.end(); ++part) {
    const size_t name = value.is_object() ? part.key().size() : 0;
    if (name > remaining) return false;
    remaining -= name;
    if (!may_fit(*part, remaining)) return false;
  }
  return true;
}

}  // namespace

Result<std::string> shown_arguments(const Json& arguments) {
  size_t remaining = kMaxListedArguments;
  if (may_fit(arguments, remaining)) {
    // ASCII has no characters that change the direction of writing or look like other characters.
    std::string text = dump_json_ascii(arguments);
    if (text.size() <= kMaxListedArguments) return text;
  }
  return fail(
      Code::invalid,
      fmt::format("this call needs an approval, and its arguments have more than the {} characters that a person "
                  "is shown; the arguments are never shown in part",
                  kMaxListedArguments),
      "make several calls with shorter arguments, or pass the name of a file instead of a long "
      "text");
}

namespace {

Task<Result<ApprovalVerdict>> ask(CallEnvironment& environment, const CallContext& context, PersonsQuestion question,
                                  const Json& exact) {
  const policies::ApprovalRules& rules = policies::calls_of(*context.policy).approval;
  CO_TRY(const Json params, co_await tokenise_values(environment, context, std::move(question.given)));
  CO_TRY(std::string text, shown_arguments(params));
  Approval approval;
  approval.tenant = context.tenant->account();
  approval.execution = context.execution;
  approval.tool = printable(question.tool, 200);
  approval.rule = std::move(question.rule);
  approval.why = std::move(question.why);
  approval.arguments = std::move(text);
  if (auto complete = shown_arguments(exact)) approval.exact_arguments = *std::move(complete);
  approval.principal = context.principal.name();
  approval.asker = context.principal.displayed();
  approval.uid = context.principal.uid();
  approval.pid = context.principal.pid();
  approval.requested_ms = journal::now_ms();
  approval.expires_ms = approval.requested_ms + std::chrono::milliseconds(rules.expires).count();
  approval.by = rules.by;
  auto verdict = co_await environment.approvals.ask(std::move(approval), context.client);
  co_return verdict;
}

}  // namespace

Task<Result<ApprovalVerdict>> ask_person(CallEnvironment& environment, const CallContext& context, AuditedCall& audited,
                                         PersonsQuestion question, const Json& exact) {
  audited.set("rule", question.rule);
  audited.set("verdict", kind_name(ApprovalVerdict::Kind::withdrawn));  // of a call that ends meanwhile
  auto verdict = co_await ask(environment, context, std::move(question), exact);
  audited.set("verdict", verdict ? kind_name(verdict->kind) : code_name(verdict.error().code));
  if (verdict && !verdict->by.empty()) audited.set("by", verdict->by);
  co_return verdict;
}

std::string cause_of(const ApprovalVerdict& verdict, std::chrono::seconds lasted) {
  using Kind = ApprovalVerdict::Kind;
  const std::string reason = verdict.reason.empty() ? "" : " (" + printable(verdict.reason, 500) + ")";
  switch (verdict.kind) {
    case Kind::denied:
      return fmt::format("was refused by {}{}", verdict.by, reason);
    case Kind::dismissed:
      return fmt::format("needs an approval, and {} dismissed the question", verdict.by);
    case Kind::expired:
      return fmt::format("needs an approval, and no person approved it within {} s", lasted.count());
    case Kind::withdrawn:
      return "needs an approval, and the question was withdrawn" + reason;
    default:
      return "needs an approval, and no person can be asked here";
  }
}

Task<Result<std::string>> await_approval(CallEnvironment& environment, const CallContext& context, const Target& target,
                                         const policies::CallRules::Decision& decision, Json params,
                                         const Json& exact) {
  const FreezeGuard frozen(context.jail);
  spans::OpenSpan span(environment.spans, context.trace, spans::SpanKind::internal, "approval");
  AuditedCall audited(environment.journal, span, context, target, "approval");
  PersonsQuestion question{fmt::format("{}.{}", target.server, target.tool), decision.name(),
                           decision.rule ? decision.rule->why : std::string(), std::move(params)};
  CO_TRY(const ApprovalVerdict verdict, co_await ask_person(environment, context, audited, std::move(question), exact));
  if (verdict.kind != ApprovalVerdict::Kind::approved)
    co_return tl::unexpected<Error>(refusal(target.server, target.tool, decision,
                                            cause_of(verdict, policies::calls_of(*context.policy).approval.expires)));
  co_return verdict.by;
}

}  // namespace calls
