#include "supervisor/upstream/calls/approvals.h"

#include <fmt/format.h>

#include <algorithm>

#include "policies/pii/tokens.h"
#include "supervisor/base/elapsed_clock.h"
#include "supervisor/base/log.h"
#include "supervisor/base/one_shot.h"
#include "supervisor/base/random.h"
#include "supervisor/protocol/mcp/context.h"
#include "supervisor/protocol/mcp/elicitation.h"
#include "supervisor/records/journal/journal.h"

namespace calls {
namespace {

constexpr size_t kMaxOfTenant = 64, kMax = 1000;

}  // namespace

std::string_view kind_name(ApprovalVerdict::Kind kind) {
  switch (kind) {
    case ApprovalVerdict::Kind::approved:
      return "approved";
    case ApprovalVerdict::Kind::denied:
      return "denied";
    case ApprovalVerdict::Kind::dismissed:
      return "dismissed";
    case ApprovalVerdict::Kind::expired:
      return "expired";
    case ApprovalVerdict::Kind::unasked:
      return "unasked";
    case ApprovalVerdict::Kind::withdrawn:
      break;
  }
  return "withdrawn";
}

std::string approval_text(const Approval& approval) {
  std::string text = fmt::format("Allow this call?\n\ntool: {}\narguments: {}\n", approval.tool, approval.arguments);
  text += approval.execution.empty() ? "asked by: the agent, directly\n"
                                     : fmt::format("asked by: code in a jail, execution {}\n", approval.execution);
  text += fmt::format("tenant: {}\nrule: {}{}{}\n", approval.tenant, approval.rule, approval.why.empty() ? "" : ": ",
                      printable(approval.why, 500));
  const int64_t until = approval.expires_ms / 1000;
  const int64_t of_day = until % (24 * 60 * 60);
  text += fmt::format("Without an answer the call is refused at {:02}:{:02}:{:02} UTC.", of_day / 3600,
                      of_day / 60 % 60, of_day % 60);
  return text;
}

struct Approvals::WaitingCall {
  Approval approval;
  OneShot<ApprovalVerdict>::Resolver settled;
  std::shared_ptr<mcp::Elicitation> question;
  Deadline expiry;
  uint32_t looks = 0;
};

// The entry of one call in waiting_. The destructor removes it, also if the waiting task is cancelled.
class Approvals::WaitingSlot {
 public:
  WaitingSlot(Approvals& approvals, std::shared_ptr<WaitingCall> waiting)
      : approvals_(approvals), waiting_(std::move(waiting)) {
    approvals_.waiting_.emplace(waiting_->approval.id, waiting_);
    approvals_.notify(waiting_->approval, RequestChange::requested, {});
  }
  WaitingSlot(const WaitingSlot&) = delete;
  ~WaitingSlot() {
    waiting_->expiry = Deadline();
    if (approvals_.waiting_.erase(waiting_->approval.id) == 0) return;
    approvals_.count(ApprovalVerdict::Kind::withdrawn);
    approvals_.notify(waiting_->approval, RequestChange::settled, kind_name(ApprovalVerdict::Kind::withdrawn));
  }

 private:
  Approvals& approvals_;
  std::shared_ptr<WaitingCall> waiting_;
};

Task<Result<ApprovalVerdict>> Approvals::ask(Approval approval, mcp::RequestContext& client) {
  if (!closed_.empty()) co_return fail(Code::unavailable, closed_, "call again in some seconds");
  const auto of_tenant = std::count_if(waiting_.begin(), waiting_.end(), [&](const auto& item) {
    return item.second->approval.tenant == approval.tenant;
  });
  if (of_tenant >= static_cast<ptrdiff_t>(kMaxOfTenant))
    co_return fail(Code::exhausted, fmt::format("{} calls of this tenant wait for an approval already", of_tenant),
                   "wait until some of them are decided", "calls.approval");
  if (waiting_.size() >= kMax)
    co_return fail(Code::exhausted, fmt::format("{} calls of all tenants wait for an approval already", kMax),
                   "call again later", "calls.approval");
  OneShot<ApprovalVerdict> verdict(loop_, ApprovalVerdict{ApprovalVerdict::Kind::withdrawn, {}, {}});
  auto waiting = std::make_shared<WaitingCall>();
  waiting->settled = verdict.resolver();
  const auto lasts = std::chrono::milliseconds(std::max<int64_t>(approval.expires_ms - approval.requested_ms, 0));
  approval.id = "a" + random_hex(8);
  waiting->approval = std::move(approval);
  if (waiting->approval.by == policies::ApprovalRules::By::tenant) ask_client(waiting, client);
  if (!waiting->question && !an_observer_can_decide()) {
    count(ApprovalVerdict::Kind::unasked);
    co_return ApprovalVerdict{ApprovalVerdict::Kind::unasked, {}, {}};
  }
  WaitingSlot position(*this, waiting);
  waiting->expiry = Deadline(loop_, lasts, [this, id = waiting->approval.id] {
    (void)settle(id, ApprovalVerdict{ApprovalVerdict::Kind::expired, {}, {}});
  });
  ApprovalVerdict settled = co_await verdict;
  co_return settled;
}

void Approvals::ask_client(const std::shared_ptr<WaitingCall>& waiting, mcp::RequestContext& client) {
  auto answered = [this, id = waiting->approval.id, asker = waiting->approval.asker](mcp::Elicited answer) {
    using Action = mcp::Elicited::Action;
    if (answer.action == Action::unable && an_observer_can_decide()) return;  // a user of D-Bus may still decide
    ApprovalVerdict verdict;
    verdict.kind = answer.action == Action::accept    ? ApprovalVerdict::Kind::approved
                   : answer.action == Action::decline ? ApprovalVerdict::Kind::denied
                   : answer.action == Action::cancel  ? ApprovalVerdict::Kind::dismissed
                                                      : ApprovalVerdict::Kind::unasked;
    if (verdict.kind != ApprovalVerdict::Kind::unasked) verdict.by = "the client of " + asker;
    (void)settle(id, std::move(verdict));
  };
  waiting->question = client.elicit({approval_text(waiting->approval)}, std::move(answered));
}

Result<> Approvals::settle(const std::string& id, ApprovalVerdict verdict) {
  auto node = waiting_.extract(id);
  if (!node)
    return fail(Code::not_found, fmt::format("no call with the id '{}' waits for an approval", printable(id, 64)),
                "list the waiting calls: warder approvals");
  const std::shared_ptr<WaitingCall> waiting = node.mapped();
  // The deadline counts no time in suspend; the clocks of rights do.
  const bool is_late =
      verdict.kind == ApprovalVerdict::Kind::approved && waiting->approval.expires_ms <= rights_now_ms();
  if (is_late) verdict = ApprovalVerdict{ApprovalVerdict::Kind::expired, {}, {}};
  count(verdict.kind);
  notify(waiting->approval, RequestChange::settled, kind_name(verdict.kind));
  waiting->settled.resolve(std::move(verdict));
  if (is_late)
    return fail(Code::not_found, fmt::format("the approval '{}' has expired", id), "the agent may call again");
  return {};
}

Result<Approvals::ApprovalView> Approvals::inspect(const std::string& id) {
  const auto it = waiting_.find(id);
  if (it == waiting_.end())
    return fail(Code::not_found, fmt::format("no call with the id '{}' waits for an approval", printable(id, 64)),
                "list the waiting calls: warder approvals");
  WaitingCall& waiting = *it->second;
  const Approval& approval = waiting.approval;
  if (approval.exact_arguments.empty())
    return fail(Code::invalid, "the arguments with personal data are too long to be shown", "decide by the tokens");
  return ApprovalView{approval.exact_arguments, policies::count_tokens(approval.arguments), ++waiting.looks};
}

bool Approvals::an_observer_can_decide() const {
  bool can = false;
  observers_.each([&can](const Observer& observer) { can = can || (observer.can_decide && observer.can_decide()); });
  return can;
}

void Approvals::notify(const Approval& approval, RequestChange subject, std::string_view how) const {
  observers_.each([&](const Observer& observer) { observer.changed(approval, subject, how); });
}

void Approvals::close(const std::string& why) {
  closed_ = why;
  refuse_all(why);
}

void Approvals::refuse_all(const std::string& why) {
  while (!waiting_.empty()) {
    const std::string id = waiting_.begin()->first;
    (void)settle(id, ApprovalVerdict{ApprovalVerdict::Kind::withdrawn, {}, why});
  }
}

const Approval* Approvals::find(const std::string& id) const {
  const auto it = waiting_.find(id);
  return it == waiting_.end() ? nullptr : &it->second->approval;
}

std::vector<const Approval*> Approvals::all() const {
  std::vector<const Approval*> all;
  for (const auto& [id, waiting] : waiting_) all.push_back(&waiting->approval);
  std::stable_sort(all.begin(), all.end(), [](auto* a, auto* b) { return a->requested_ms < b->requested_ms; });
  return all;
}

std::vector<std::string> Approvals::of(std::string_view execution) const {
  std::vector<std::string> ids;
  for (const Approval* approval : all())
    if (approval->execution == execution) ids.push_back(approval->id);
  return ids;
}

}  // namespace calls
