// Calls of upstream servers' tools as a part of the daemon: approvals, the calls of jailed code, and what a call uses.
#include <fmt/format.h>

#include "supervisor/base/log.h"
#include "supervisor/executions/execution_registry.h"
#include "supervisor/message_ids.h"
#include "supervisor/operations/metrics/text.h"
#include "supervisor/parts.h"
#include "supervisor/upstream/calls/guest_calls.h"
#include "supervisor/upstream/calls/upstream_call.h"

namespace calls {
namespace {

std::vector<LogField> fields_of(const Approval& approval) {
  return {{"WARDER_APPROVAL_ID", approval.id},
          {"WARDER_EXECUTION_ID", approval.execution},
          {"WARDER_TENANT", approval.tenant},
          {"WARDER_TOOL", approval.tool},
          {"WARDER_RULE", approval.rule}};
}

class CallsPart final : public Part, public PolicyFollower, public Drainer, public MetricSource {
 public:
  CallsPart(Loop& loop, Work& work, upstream::UpstreamServers& upstream, journal::Journal& journal,
            discovery::Discovery& discovery, discovery::SearchLearning& learning, privacy::PiiVaults& vaults,
            executions::ExecutionRegistry& executions, spans::Queue* spans)
      : loop_(loop),
        executions_(executions),
        approvals_(loop),
        approvals_noted_(
            approvals_.observe({.changed = [this](const Approval& approval, Approvals::RequestChange subject,
                                                  std::string_view how) { note_approval(approval, subject, how); }})),
        guest_calls_(work),
        environment_{.loop = loop,
                     .work = work,
                     .upstream = upstream,
                     .journal = journal,
                     .catalog_of = [&discovery] { return discovery.current(); },
                     .vaults = vaults,
                     .learning = learning,
                     .approvals = approvals_,
                     .spans = spans} {}

  static Result<std::unique_ptr<CallsPart>> open(Loop& loop, Work& work, upstream::UpstreamServers& upstream,
                                                 journal::Journal& journal, discovery::Discovery& discovery,
                                                 discovery::SearchLearning& learning, privacy::PiiVaults& vaults,
                                                 executions::ExecutionRegistry& executions, spans::Queue* spans) {
    return std::make_unique<CallsPart>(loop, work, upstream, journal, discovery, learning, vaults, executions, spans);
  }
  std::tuple<Approvals&, GuestCalls&, CallEnvironment&> services() { return {approvals_, guest_calls_, environment_}; }

  void adopt_policies() override {
    approvals_.refuse_all("the policies were reloaded: call again");
    environment_.questions.cancel_all(loop_);
  }
  void refuse_calls() override {
    approvals_.close("warderd is ending: call again in some seconds");
    environment_.questions.close(loop_);
  }

  void write_metrics(metrics::OpenMetricsText& text, Reader) const override {
    uint64_t for_tenants = 0, for_administrators = 0;
    for (const Approval* waiting : approvals_.all())
      (waiting->by == policies::ApprovalRules::By::tenant ? for_tenants : for_administrators)++;
    text.family("warder_approvals_now", "gauge", "", "Calls that wait for an approval, by the user who may decide.");
    text.sample("", {{"by", "tenant"}}, for_tenants);
    text.sample("", {{"by", "administrator"}}, for_administrators);
    text.family("warder_approvals", "counter", "", "Approvals that were settled, by decision.");
    for (size_t i = 0; i < kApprovalKinds; i++)
      text.sample("_total", {{"decision", kind_name(static_cast<ApprovalVerdict::Kind>(i))}}, approvals_.settled()[i]);
  }

 private:
  void note_approval(const Approval& approval, Approvals::RequestChange subject, std::string_view how) {
    if (subject == Approvals::RequestChange::requested) {
      log_fields(LogLevel::notice, kApprovalRequestedId,
                 fmt::format("approval {}: tenant {} waits for approval of {} ({})", approval.id, approval.tenant,
                             approval.tool, approval.rule),
                 fields_of(approval));
    } else {
      log_fields(LogLevel::notice, kApprovalSettledId, fmt::format("approval {}: {}", approval.id, how),
                 fields_of(approval));
    }
    if (!approval.execution.empty()) executions_.waits(approval.execution, approvals_.of(approval.execution));
  }

  Loop& loop_;
  executions::ExecutionRegistry& executions_;
  Approvals approvals_;
  Approvals::Observers::Place approvals_noted_;
  GuestCalls guest_calls_;
  CallEnvironment environment_;
};

}  // namespace

PartEntry part() { return part_entry_of("calls", CallsPart::open); }

}  // namespace calls
