// A workflow: a named list of steps that a program runs one after another. The values of the steps are stored, so the
// same program, sent again after its end, skips the steps that have ended. This header has the data of a workflow, its
// limits, and WorkflowDisk, the interface of the file that keeps it.
// Source: jailed code, by the calls of tools/workflows/step_calls.h. Used by: tools/workflows/workflow_store.h, an
// annex; journal/workflow_rows.h. Errors: invalid (a name), exhausted (a limit), not_found, and those of the disk.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/result.h"
#include "supervisor/base/task.h"

namespace workflows {

constexpr size_t kMaxValueBytes = 1 << 20;  // of one step's value, as JSON
constexpr size_t kMaxStepNameBytes = 128;
constexpr size_t kMaxFailureBytes = 4096;  // of the message of a failed step; a longer one is cut

// 1 to 64 of A-Z a-z 0-9 . _ -, the first no dot. Errors: invalid.
Result<> check_workflow_name(std::string_view name);
// 1 to kMaxStepNameBytes bytes of UTF-8 without control characters. Errors: invalid.
Result<> check_step_name(std::string_view name);

struct WorkflowId {
  std::string tenant;  // TenantId::text(): each named workspace has its own workflows
  std::string name;
  auto operator<=>(const WorkflowId&) const = default;
};

struct WorkflowLimits {
  uint32_t workflows = 0;        // of one tenant or named workspace; 0: no workflows
  uint32_t steps = 0;            // of one workflow
  uint64_t bytes = 0;            // of all values of the tenant or named workspace
  std::chrono::seconds keep{0};  // after its last use a workflow is removed
};

struct StoredWorkflow {
  std::string run;                         // random; made when the workflow is, so a reset workflow has another
  std::string execution;                   // the last one that used it
  int64_t created_ms = 0, updated_ms = 0;  // since 1970
  int64_t expires_ms = 0;                  // retention time (base/elapsed_clock.h)
  uint32_t steps = 0;                      // recorded; their positions are 0 to steps - 1
  uint64_t bytes = 0;                      // of their values
};

// finished: `value` is the step's value. failed: `value` is the message of its last attempt.
enum class StepState { finished, failed };
std::string_view state_name(StepState state);
std::optional<StepState> find_state(std::string_view name);

struct StoredStep {
  uint32_t position = 0;
  std::string name;
  StepState state = StepState::finished;
  std::string value;
  std::string
      inputs;  // StepInputs::text(): the values that its function read; empty: none, or an earlier version recorded it
  uint32_t attempts = 0;
  std::string execution;
  int64_t ended_ms = 0;
};

// StoredRun: a background execution that uses a workflow, and what a later daemon needs to start it again. The row
// exists from its first step until its end.
struct StoredRun {
  std::string execution;  // its id
  WorkflowId workflow;    // the first one that it used
  std::string caller;     // JSON text: the client that asked for it (runs/resumed_execution.h)
  std::string arguments;  // JSON text: those of execute_code
  uint32_t resumes = 0;   // how often it was started again before
};

// WorkflowDisk: the file of workflows. Each change is committed when its task ends; a change of a cancelled task may
// still be made. Errors of all: those of the disk.
class WorkflowDisk {
 public:
  virtual ~WorkflowDisk() = default;

  // Random bytes of this disk, the same for ever. Empty: the disk has none.
  virtual std::string_view hash_secret() const { return {}; }
  struct Opened {
    StoredWorkflow workflow;
    uint64_t tenant_bytes = 0;  // of all workflows of the tenant
  };
  // The workflow, used from now on by `fresh.execution`. A missing one is made as `fresh`. Errors also: exhausted, the
  // tenant has `limits.workflows` others.
  virtual Task<Result<Opened>> open(WorkflowId id, StoredWorkflow fresh, WorkflowLimits limits) = 0;
  // Records a step, in the place of an earlier one of its position. Returns the bytes of all workflows of the tenant.
  // Errors also: not_found, the workflow was removed; exhausted, `limits.bytes`.
  virtual Task<Result<uint64_t>> put(WorkflowId id, StoredStep step, int64_t expires_ms, WorkflowLimits limits) = 0;
  // Steps from `first` on, in their order: at most `max` and, after the first one, at most `max_bytes` of values.
  virtual Task<Result<std::vector<StoredStep>>> steps(WorkflowId id, uint32_t first, uint32_t max,
                                                      uint64_t max_bytes) = 0;
  // The same without values, but those of failed steps.
  struct StepHead {
    StoredStep step;
    uint64_t bytes = 0;
  };
  virtual Task<Result<std::vector<StepHead>>> heads(WorkflowId id, uint32_t first, uint32_t max) = 0;
  virtual Task<Result<std::optional<StoredWorkflow>>> find(WorkflowId id) = 0;
  struct Listed {
    std::string name;
    StoredWorkflow workflow;
  };
  // All workflows of a tenant or named workspace, by name.
  virtual Task<Result<std::vector<Listed>>> list(std::string tenant) = 0;
  // `existed` is false if no workflow has this name. `tenant_bytes`: of the remaining workflows.
  struct Removed {
    bool existed = false;
    uint64_t tenant_bytes = 0;
  };
  virtual Task<Result<Removed>> remove(WorkflowId id) = 0;
  // Removes the workflows of a tenant, with those of its named workspaces, or of one named workspace. Queued.
  virtual void forget(std::string tenant) = 0;
  virtual Task<Result<>> add_run(StoredRun run) = 0;
  // The row of `execution`, which a former daemon left; empty: absent.
  virtual Task<Result<std::optional<StoredRun>>> find_run(std::string execution) = 0;
  // From now on that run is `execution`, started again once more.
  virtual Task<Result<>> resume_run(std::string before, std::string execution) = 0;
  // The execution has ended. Queued, and committed with what is written next.
  virtual void end_run(std::string execution) = 0;
  // Removes workflows that have expired, but `workflow_ids`; returns how many.
  virtual Task<Result<uint64_t>> expire(int64_t retention_ms, std::vector<WorkflowId> workflow_ids) = 0;
};

// The seed of Python's text hashes for programs of the tenant that use a workflow, 1 to 2^32 - 1: with it a set has the
// same order in each run, so a loop over a set has its steps in the same order. It cannot be guessed.
uint32_t hash_seed(const WorkflowDisk& disk, std::string_view tenant);

// UsedWorkflow: a workflow whose steps a program runs, as calls of tools see it.
class UsedWorkflow {
 public:
  virtual ~UsedWorkflow() = default;
  // The key for the next call that the running step makes of an upstream server's tool: the same in each attempt and
  // in each run of the program, if the step makes its calls in the same order. Empty: no step runs.
  virtual std::string next_call_key() = 0;
};

}  // namespace workflows
