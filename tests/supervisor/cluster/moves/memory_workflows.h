// Workflows in memory, for tests of records that move.
#pragma once
#include <map>
#include <utility>
#include <vector>

#include "supervisor/records/workflows/workflow.h"

namespace moves_test {

using namespace workflows;

class MemoryWorkflows : public WorkflowDisk {
 public:
  std::map<WorkflowId, std::pair<StoredWorkflow, std::vector<StoredStep>>> all;

  Task<Result<Opened>> open(WorkflowId id, StoredWorkflow fresh, WorkflowLimits) override {
    const auto [at, is_new] = all.try_emplace(id);
    if (is_new) at->second.first = fresh;
    Opened opened{at->second.first, 0};
    co_return opened;
  }
  Task<Result<uint64_t>> put(WorkflowId id, StoredStep step, int64_t, WorkflowLimits) override {
    auto& [workflow, steps] = all.at(id);
    if (step.position < steps.size())
      steps[step.position] = step;
    else
      steps.push_back(step);
    workflow.steps = static_cast<uint32_t>(steps.size());
    co_return 0;
  }
  Task<Result<std::vector<StoredStep>>> steps(WorkflowId id, uint32_t first, uint32_t, uint64_t) override {
    const auto& of = all.at(id).second;
    std::vector<StoredStep> stored_steps;
    if (first < of.size()) stored_steps.push_back(of[first]);  // one at a time
    co_return stored_steps;
  }
  Task<Result<std::vector<Listed>>> list(std::string tenant) override {
    std::vector<Listed> listeds;
    for (const auto& [id, flow] : all)
      if (id.tenant == tenant) listeds.push_back({id.name, flow.first});
    co_return listeds;
  }
  Task<Result<Removed>> remove(WorkflowId id) override {
    all.erase(id);
    Removed removed{true, 0};
    co_return removed;
  }
  Task<Result<std::vector<StepHead>>> heads(WorkflowId, uint32_t, uint32_t) override {
    co_return fail(Code::internal, "");
  }
  Task<Result<std::optional<StoredWorkflow>>> find(WorkflowId) override { co_return fail(Code::internal, ""); }
  void forget(std::string) override {}
  Task<Result<>> add_run(StoredRun) override { co_return fail(Code::internal, ""); }
  Task<Result<std::optional<StoredRun>>> find_run(std::string) override { co_return fail(Code::internal, ""); }
  Task<Result<>> resume_run(std::string, std::string) override { co_return fail(Code::internal, ""); }
  void end_run(std::string) override {}
  Task<Result<uint64_t>> expire(int64_t, std::vector<WorkflowId>) override { co_return 0; }
};

}  // namespace moves_test
