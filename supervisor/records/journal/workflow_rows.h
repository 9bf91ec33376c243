// WorkflowRows: the workflows of jailed code in the journal's file: a row for each workflow and one for each step.
// Written by the writer's thread, read on the thread of reads.
// Source: workflows::WorkflowStore, runs that are started again, moves. Errors: those of Journal and of WorkflowDisk.
#pragma once
#include "supervisor/records/journal/journal.h"
#include "supervisor/records/workflows/workflow.h"

namespace journal {

class WorkflowRows : public workflows::WorkflowDisk {
 public:
  // The journal must outlive it.
  explicit WorkflowRows(Journal& journal) : journal_(journal) {}
  Task<Result<Opened>> open(workflows::WorkflowId id, workflows::StoredWorkflow fresh,
                            workflows::WorkflowLimits limits) override;
  Task<Result<uint64_t>> put(workflows::WorkflowId id, workflows::StoredStep step, int64_t expires_ms,
                             workflows::WorkflowLimits limits) override;
  std::string_view hash_secret() const override { return journal_.hash_secret(); }
  Task<Result<std::vector<workflows::StoredStep>>> steps(workflows::WorkflowId id, uint32_t first, uint32_t max,
                                                         uint64_t max_bytes) override;
  Task<Result<std::vector<StepHead>>> heads(workflows::WorkflowId id, uint32_t first, uint32_t max) override;
  Task<Result<std::optional<workflows::StoredWorkflow>>> find(workflows::WorkflowId id) override;
  Task<Result<std::vector<Listed>>> list(std::string tenant) override;
  Task<Result<Removed>> remove(workflows::WorkflowId id) override;
  void forget(std::string tenant) override;
  Task<Result<>> add_run(workflows::StoredRun run) override;
  Task<Result<std::optional<workflows::StoredRun>>> find_run(std::string execution) override;
  Task<Result<>> resume_run(std::string before, std::string execution) override;
  void end_run(std::string execution) override;
  Task<Result<uint64_t>> expire(int64_t retention_ms, std::vector<workflows::WorkflowId> workflow_ids) override;

 private:
  Journal& journal_;
};

SchemaPart workflows_part();
// The executions of all runs that a former daemon left. For the start.
Result<std::vector<std::string>> read_run_executions(Database& database);
// The random bytes that WorkflowRows::hash_secret() returns. For the start.
Result<std::string> read_hash_secret(Database& database);

}  // namespace journal
