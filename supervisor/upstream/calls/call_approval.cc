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

constexpr size_t kMaxArgumentsShown = 16'000;  // characters

// False: the value takes more than `left` characters. Examines no more than about `left` characters of a large value.
bool may_fit(const Json& value, size_t& left) {
  const size_t takes = value.is_string()        ? 1 + value.get_ref<const std::string&>().size()
                       : is_exact_number(value) ? 1 + value.get_binary().size()
                                                : 1;
  if (takes > left) return false;
  left -= takes;
  if (!value.is_structured()) return true;
  for (auto part = value.begin(); part != value.end(); ++part) {
    const size_t name = value.is_object() ? part.key().size() : 0;
    if (name > left) return false;
    left -= name;
    if (!may_fit(*part, left)) return false;
  }
  return true;
}

}  // namespace

Result<std::string> shown_arguments(const Json& arguments) {
  size_t left = kMaxArgumentsShown;
  if (may_fit(arguments, left)) {
    // ASCII has no characters that change the direction of writing or look like other characters.
    std::string text = dump_json_ascii(arguments);
    if (text.size() <= kMaxArgumentsShown) return text;
  }
  return fail(
      Code::invalid,
      fmt::format("this call needs an approval, and its arguments have more than the {} characters that a person "
                  "is shown; the arguments are never shown in part",
                  kMaxArgumentsShown),
      "make several calls with shorter arguments, or pass the name of a file instead of a long "
      "text");
}

namespace {

Task<Result<ApprovalVerdict>> ask(CallEnvironment& environment, const CallContext& who, PersonsQuestion question,
                                  const Json& exact) {
  const policies::ApprovalRules& rules = policies::calls_of(*who.policy).approval;
  CO_TRY(const Json given, co_await tokenise_values(environment, who, std::move(question.given)));
  CO_TRY(std::string shown, shown_arguments(given));
  Approval approval;
  approval.tenant = who.tenant->account();
  approval.execution = who.execution;
  approval.tool = printable(question.tool, 200);
  approval.rule = std::move(question.rule);
  approval.why = std::move(question.why);
  approval.arguments = std::move(shown);
  if (auto complete = shown_arguments(exact)) approval.exact_arguments = *std::move(complete);
  approval.principal = who.principal.name();
  approval.asker = who.principal.shown();
  approval.uid = who.principal.uid();
  approval.pid = who.principal.pid();
  approval.asked_ms = journal::now_ms();
  approval.expires_ms = approval.asked_ms + std::chrono::milliseconds(rules.expires).count();
  approval.by = rules.by;
  auto verdict = co_await environment.approvals.ask(std::move(approval), who.client);
  co_return verdict;
}

}  // namespace

Task<Result<ApprovalVerdict>> ask_person(CallEnvironment& environment, const CallContext& who, AuditedCall& audited,
                                         PersonsQuestion question, const Json& exact) {
  audited.set("rule", question.rule);
  audited.set("verdict", kind_name(ApprovalVerdict::Kind::withdrawn));  // of a call that ends meanwhile
  auto verdict = co_await ask(environment, who, std::move(question), exact);
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

Task<Result<std::string>> await_approval(CallEnvironment& environment, const CallContext& who, const Target& target,
                                         const policies::CallRules::Decision& decision, Json given, const Json& exact) {
  const FreezeGuard frozen(who.jail);
  traces::OpenSpan span(environment.spans, who.trace, traces::SpanKind::internal, "approval");
  AuditedCall audited(environment.journal, span, who, target, "approval");
  PersonsQuestion question{fmt::format("{}.{}", target.server, target.tool), decision.name(),
                           decision.rule ? decision.rule->why : std::string(), std::move(given)};
  CO_TRY(const ApprovalVerdict verdict, co_await ask_person(environment, who, audited, std::move(question), exact));
  if (verdict.kind != ApprovalVerdict::Kind::approved)
    co_return tl::unexpected<Error>(refusal(target.server, target.tool, decision,
                                            cause_of(verdict, policies::calls_of(*who.policy).approval.expires)));
  co_return verdict.by;
}

}  // namespace calls
