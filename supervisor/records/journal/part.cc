// The journal as a part of the daemon: it opens the journal, and logs its troubles and the heads of the audit chain.
#include "supervisor/base/elapsed_clock.h"
#include "supervisor/base/log.h"
#include "supervisor/daemon/configuration/options.h"
#include "supervisor/message_ids.h"
#include "supervisor/operations/metrics/text.h"
#include "supervisor/parts.h"
#include "supervisor/records/journal/audit_anchors.h"
#include "supervisor/records/journal/journal.h"
#include "supervisor/records/journal/workflow_rows.h"

namespace journal {
namespace {

// `jump_ms`: 0, the clock is right.
void log_clock(int64_t jump_ms) {
  if (jump_ms == 0)
    return log_fields(LogLevel::notice, kClockNearId, "the clock is right again: old data is removed as usual", {});
  log_fields(LogLevel::warning, kClockFarId,
             clock_jump_text(jump_ms) + ": no data is removed for its age meanwhile; look at timedatectl",
             {{"WARDER_CLOCK_JUMP_SECONDS", std::to_string(jump_ms / 1000)}});
}

class JournalPart final : public Part,
                          public Opener,
                          public TenantDataOwner,
                          public Drainer,
                          public FindingSource,
                          public MetricSource {
 public:
  JournalPart(Loop& loop, Durability durability, std::unique_ptr<Journal> journal)
      : loop_(loop), durability_(durability), journal_(std::move(journal)), workflows_(*journal_), tasks_(loop) {}

  // The journal holds the records that earlier daemons acknowledged. The daemon does not serve without a journal.
  static Result<std::unique_ptr<JournalPart>> open(Loop& loop, Options& options) {
    const Settings& settings = options.journal;
    TRY(auto journal, Journal::open(loop, options.state + "/journal", settings));
    if (!journal->set_aside().empty()) log_error("journal: {}", journal->set_aside());
    journal->on_trouble([](const std::string& trouble) {
      log_error("journal: {}; records from now on are lost with the old file: restart the daemon", trouble);
    });
    if (journal->interrupted() > 0)
      log_notice("journal: {} executions were interrupted when the daemon last ended", journal->interrupted());
    log_info("journal: {}", settings.durability == Durability::durable ? "durable" : "buffered");
    log_audit_head(journal->audit_head());
    journal->on_clock(log_clock);
    if (journal->clock_jump_ms() != 0) log_clock(journal->clock_jump_ms());
    return std::make_unique<JournalPart>(loop, settings.durability, std::move(journal));
  }
  std::tuple<Journal&, workflows::WorkflowDisk&> services() { return {*journal_, workflows_}; }

  Result<> serve() override {
    tasks_.spawn(anchor_audit_hourly(loop_, *journal_));
    return {};
  }
  void forget(const tenants::TenantId& id) override { workflows_.forget(id.text()); }
  Task<> finish_calls() override { return anchor_audit(*journal_); }
  void disconnect() override { tasks_.cancel_all(); }

  Task<doctor::Findings> examine() override {
    const bool durable = durability_ == Durability::durable;
    co_return doctor::Findings{doctor::judge_journal(journal_->trouble(), durable ? "durable" : "buffered"),
                               doctor::judge_clock(journal_->clock_jump_ms())};
  }
  void write_metrics(metrics::OpenMetricsText& text, Reader) const override {
    const int64_t jump_s = journal_->clock_jump_ms() / 1000;
    text.family("warder_clock_jump_seconds", "gauge", "seconds",
                "By how much the wall clock is ahead of, or behind, the time that has passed; 0 below a day.");
    text.sample("", {{"direction", "ahead"}}, static_cast<uint64_t>(std::max<int64_t>(jump_s, 0)));
    text.sample("", {{"direction", "behind"}}, static_cast<uint64_t>(std::max<int64_t>(-jump_s, 0)));
  }

 private:
  Loop& loop_;
  const Durability durability_;
  std::unique_ptr<Journal> journal_;
  WorkflowRows workflows_;
  Scope tasks_;  // last: cancelled first
};

}  // namespace

PartEntry part() { return part_entry_of("journal", JournalPart::open); }

}  // namespace journal
