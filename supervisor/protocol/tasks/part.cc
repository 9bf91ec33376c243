// The stores of answers that outlive their requests, as a part of the daemon: tasks of the protocol and executions in
// the background, and executions with ids that their clients chose.
#include "supervisor/executions/runs/named_execution.h"
#include "supervisor/operations/metrics/text.h"
#include "supervisor/parts.h"
#include "supervisor/protocol/tasks/task_store.h"
#include "supervisor/records/journal/task_rows.h"

namespace tasks {
namespace {

class TasksPart final : public Part, public TenantDataOwner, public MetricSource {
 public:
  TasksPart(Loop& loop, journal::Journal& journal)
      : rows_(journal, journal::TaskTable::tasks),
        store_(loop, rows_),
        named_rows_(journal, journal::TaskTable::named_executions),
        named_store_(loop, named_rows_, runs::named_limits()) {}

  static Result<std::unique_ptr<TasksPart>> open(Loop& loop, journal::Journal& journal) {
    return std::make_unique<TasksPart>(loop, journal);
  }
  std::tuple<TaskStore&, runs::NamedExecutions&> services() { return {store_, named_}; }

  void forget(const tenants::TenantId& id) override {
    store_.forget_of(id.text());
    named_store_.forget_of(id.text());
  }

  void write_metrics(metrics::OpenMetricsText& text, Reader) const override {
    const TaskCounts counts = store_.counts();
    text.family("warder_tasks", "gauge", "", "Background executions and tasks of the protocol, by state.");
    text.sample("", {{"state", "running"}}, counts.running);
    text.sample("", {{"state", "ended"}}, counts.ended);
    text.family("warder_task_results_bytes", "gauge", "bytes", "The stored results of tasks that have ended.");
    text.sample("", {}, counts.result_bytes);
  }

 private:
  journal::TaskRows rows_;
  TaskStore store_;
  journal::TaskRows named_rows_;
  TaskStore named_store_;
  runs::NamedExecutions named_{named_store_};
};

}  // namespace

PartEntry part() { return part_entry_of("tasks", TasksPart::open); }

}  // namespace tasks
