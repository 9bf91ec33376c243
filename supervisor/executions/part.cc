// Executions as a part of the daemon: their queue, their registry, sessions, the code that agents sent lately, and the
// timeline.
#include "supervisor/executions/admission.h"
#include "supervisor/executions/execution_metrics.h"
#include "supervisor/executions/execution_registry.h"
#include "supervisor/executions/recent_code.h"
#include "supervisor/executions/sessions.h"
#include "supervisor/executions/timeline_recorder.h"
#include "supervisor/parts.h"

namespace executions {
namespace {

constexpr uint32_t kMaxExecutions = 128;  // of all tenants at once; each tenant's limit is in its policy

class ExecutionsPart final : public Part,
                             public PolicyFollower,
                             public TenantDataOwner,
                             public Drainer,
                             public MetricSource {
 public:
  ExecutionsPart(Loop& loop, jail::Host& host, jail::Pool& pool, proposals::ProposalStores& proposals)
      : pool_(pool),
        admission_(loop, kMaxExecutions),
        registry_(loop),
        timeline_(loop, registry_, pool),
        sessions_(host, pool, proposals) {}

  static Result<std::unique_ptr<ExecutionsPart>> open(Loop& loop, jail::Host& host, jail::Pool& pool,
                                                      proposals::ProposalStores& proposals) {
    return std::make_unique<ExecutionsPart>(loop, host, pool, proposals);
  }
  std::tuple<Admission&, ExecutionRegistry&, RecentCode&, TimelineRecorder&, Sessions&> services() {
    return {admission_, registry_, recent_code_, timeline_, sessions_};
  }

  void adopt_policies() override { sessions_.end_all("the policies were reloaded"); }
  void forget(const tenants::TenantId& id) override { recent_code_.forget(id.text()); }

  void refuse_calls() override {
    admission_.close(Error{Code::unavailable,
                           0,
                           "warderd is ending and takes no new calls; this call did not run",
                           "call again in some seconds, after the restart",
                           {}});
  }
  Task<> finish_calls() override { return sessions_.finish(); }

  void write_metrics(metrics::OpenMetricsText& text, Reader) const override {
    write_execution_metrics(text, registry_, &pool_);
  }

 private:
  jail::Pool& pool_;
  Admission admission_;
  ExecutionRegistry registry_;
  RecentCode recent_code_;
  TimelineRecorder timeline_;
  Sessions sessions_;
};

}  // namespace

PartEntry part() { return part_entry_of("executions", ExecutionsPart::open); }

}  // namespace executions
