// WorkflowStore: the workflows that executions use now, and the rules of their steps.
//   One execution holds a workflow until it ends; another one is refused meanwhile.
//   Steps run one after another: position 0, 1, 2, ... A recorded step is not run again; its value is returned.
//   A recorded failure is returned too, if a later step is recorded: the program continued after that failure. A
//   failure in the last record ended the program: that step runs again.
//   If the program ends before the value of a step is recorded, the step runs again: at least once, not exactly once.
//   A position that has another name than its record is refused, and so is a function that reads other values than
//   when its step was recorded (step_inputs.h): a changed program never gets the value of another step.
// Source: step_calls.cc. Errors: invalid, exhausted (with the rule), unavailable (held by another
// execution), those of WorkflowDisk. All of it runs on the event loop.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "supervisor/base/elapsed_clock.h"
#include "supervisor/base/system_time.h"
#include "supervisor/records/workflows/step_inputs.h"
#include "supervisor/records/workflows/workflow.h"

namespace workflows {

class WorkflowStore;

constexpr char kOneAfterAnother[] =
    "steps run one after another: end the one before first; inside a step, work may run in parallel";

// StepStart: the answer to the begin of a step.
struct StepStart {
  enum class RunEvent { run, finished, failed };
  RunEvent event = RunEvent::run;
  std::string value;  // finished: JSON text; failed: the message; run: empty
};

// HeldWorkflow: one workflow, as long as one execution holds it.
class HeldWorkflow final : public UsedWorkflow {
 public:
  ~HeldWorkflow() override;
  HeldWorkflow(const HeldWorkflow&) = delete;
  HeldWorkflow& operator=(const HeldWorkflow&) = delete;

  // Beginning the running step again has no effect. Errors also: invalid, the name or an input differs from the record.
  Task<Result<StepStart>> begin_step(uint32_t position, std::string name, StepInputs inputs = StepInputs());
  // The next part of the running step's value, for values that are longer than one message of the program. Errors also:
  // exhausted, the value is too long.
  Result<> add_to_value(std::string_view part);
  size_t bytes_of_parts() const { return running_ ? running_->value.size() : 0; }
  // The running step has ended; or a new step, which was not begun. Returns when it is recorded. After an error it is
  // not recorded, and no step runs.
  struct Ending {
    uint32_t position = 0;
    std::string name;
    StepState state = StepState::finished;
    std::string value;  // finished: JSON text, behind the parts of add_to_value(); failed: the message
    uint32_t attempts = 1;
    StepInputs inputs = {};  // read if the step was not begun
  };
  Task<Result<>> end_step(Ending ending);
  // The running step has ended, and is not recorded.
  void abandon_step() { running_.reset(); }
  // The running step begins another attempt: its calls get the same keys again.
  void retry_step() { calls_ = 0; }

  std::string next_call_key() override;
  const WorkflowId& id() const { return id_; }
  // The begin of all keys; the key of a step is "<run>-<position>-<digest of its inputs>".
  const std::string& run() const { return workflow_.run; }
  uint32_t recorded_steps() const { return workflow_.steps; }
  // The bytes of all workflows of the tenant, as last recorded.
  uint64_t tenant_bytes() const { return tenant_bytes_; }

 private:
  friend class WorkflowStore;
  struct Busy;
  HeldWorkflow(WorkflowStore& store, WorkflowId id, std::string execution, WorkflowLimits limits)
      : store_(store), id_(std::move(id)), execution_(std::move(execution)), limits_(limits) {}
  Task<Result<>> open();
  Task<Result<const StoredStep*>> recorded(uint32_t position);
  Result<> check_record(const StoredStep& step, std::string_view name, const StepInputs& inputs) const;
  std::string key() const;
  tl::unexpected<Error> too_long(size_t bytes) const;

  WorkflowStore& store_;
  const WorkflowId id_;
  const std::string execution_;
  const WorkflowLimits limits_;
  StoredWorkflow workflow_;
  uint64_t tenant_bytes_ = 0;
  std::vector<StoredStep> ahead_;  // recorded steps that were read together
  bool is_busy_ = false;           // a begin or an end is under way
  struct Running {
    uint32_t position;
    std::string name;
    StepInputs inputs;
    std::string value = {};  // its parts so far
  };
  std::optional<Running> running_;
  uint32_t calls_ = 0;  // of the running step's present attempt
};

class WorkflowStore {
 public:
  using Clock = std::function<int64_t()>;  // milliseconds

  // The disk must outlive the store, and the store every HeldWorkflow.
  // `retention` decides which workflows have expired (base/elapsed_clock.h); `now` is for people.
  explicit WorkflowStore(WorkflowDisk& disk, Clock now = system_now_ms, Clock retention = retention_now_ms)
      : disk_(disk), now_(std::move(now)), retention_(std::move(retention)) {}

  // `refusal`: why no step can be recorded now; nullopt: steps are recorded. Both a begin and an end ask it.
  void refuse_steps(std::function<std::optional<Error>()> refusal) { refusal_ = std::move(refusal); }
  Task<Result<std::unique_ptr<HeldWorkflow>>> hold(WorkflowId id, std::string execution, WorkflowLimits limits);
  // The execution that holds the workflow; empty: none does.
  std::string holder(const WorkflowId& id) const;
  // Errors: not_found; unavailable: an execution holds it.
  Task<Result<WorkflowDisk::Removed>> remove(WorkflowId id);
  // Removes workflows that have expired, some hundreds at most; returns how many.
  Task<uint64_t> tidy();
  WorkflowDisk& disk() { return disk_; }
  size_t reserved() const { return holders_.size(); }

 private:
  friend class HeldWorkflow;
  WorkflowDisk& disk_;
  const Clock now_, retention_;
  std::function<std::optional<Error>()> refusal_;
  std::map<WorkflowId, std::string> holders_;  // its execution
};

}  // namespace workflows
