#include "supervisor/tools/workflows/workflow_store.h"

#include <fmt/format.h>

#include <algorithm>

#include "supervisor/base/json/json.h"
#include "supervisor/base/log.h"
#include "supervisor/base/random.h"

namespace workflows {
namespace {

constexpr uint32_t kReadAhead = 256;             // steps
constexpr uint64_t kReadAheadBytes = 256 << 10;  // of their values
constexpr char kRule[] = "workflows";

tl::unexpected<Error> is_held(const std::string& name, const std::string& holder) {
  return fail(Code::unavailable, fmt::format("workflow '{}' is in use by execution {}", name, holder),
              "wait until that execution ends, or cancel it", kRule);
}

std::string cut_message(std::string text) {
  if (text.size() <= kMaxFailureBytes) return text;
  text.resize(whole_utf8_prefix(std::string_view(text).substr(0, kMaxFailureBytes)));
  return text;
}

}  // namespace

// Busy: the time of one begin or end, in which the program must not ask for another.
struct HeldWorkflow::Busy {
  explicit Busy(bool& is_busy) : is_busy_(is_busy) { is_busy_ = true; }
  ~Busy() { is_busy_ = false; }
  Busy(const Busy&) = delete;
  bool& is_busy_;
};

HeldWorkflow::~HeldWorkflow() { store_.holders_.erase(id_); }

std::string HeldWorkflow::key() const {
  return fmt::format("{}-{}{}", workflow_.run, running_->position, running_->inputs.key_end());
}

std::string HeldWorkflow::next_call_key() {
  if (!running_) return {};
  return fmt::format("{}-{}", key(), ++calls_);
}

Task<Result<>> HeldWorkflow::open() {
  StoredWorkflow fresh;
  fresh.run = random_hex(16);
  fresh.execution = execution_;
  fresh.created_ms = fresh.updated_ms = store_.now_();
  fresh.expires_ms = store_.retention_() + std::chrono::milliseconds(limits_.keep).count();
  CO_TRY(WorkflowDisk::Opened opened, co_await store_.disk_.open(id_, std::move(fresh), limits_));
  workflow_ = std::move(opened.workflow);
  tenant_bytes_ = opened.tenant_bytes;
  co_return Result<>{};
}

Task<Result<const StoredStep*>> HeldWorkflow::recorded(uint32_t position) {
  auto find = [this, position]() -> const StoredStep* {
    const auto it = std::find_if(ahead_.begin(), ahead_.end(),
                                 [position](const StoredStep& step) { return step.position == position; });
    return it == ahead_.end() ? nullptr : &*it;
  };
  if (const StoredStep* step = find()) co_return step;
  CO_TRY(ahead_, co_await store_.disk_.steps(id_, position, kReadAhead, kReadAheadBytes));
  if (const StoredStep* step = find()) co_return step;
  co_return fail(Code::internal, fmt::format("step {} of workflow '{}' is not recorded", position, id_.name));
}

Result<> HeldWorkflow::check_record(const StoredStep& step, std::string_view name, const StepInputs& inputs) const {
  if (step.name != name)
    return fail(Code::invalid,
                fmt::format("step {} of workflow '{}' is '{}' now, and was '{}' when it was recorded", step.position,
                            id_.name, name, step.name),
                "steps must come in the same order in each run; to begin again, delete workflow:///" + id_.name);
  const auto differs = find_difference(step.inputs, inputs.text());
  if (!differs) return {};
  return fail(Code::invalid,
              fmt::format("step {} '{}' of workflow '{}' was recorded with {} = {}, and its function reads {} = {} now",
                          step.position, name, id_.name, differs->name, differs->recorded, differs->name, differs->now),
              fmt::format("give each item's step a name of its own, and keep the order of the items; a value that "
                          "changes with each run (a time, a random number) comes from a step of its own, or is left "
                          "out by inputs={{}}; to begin again, delete workflow:///{}",
                          id_.name));
}

Task<Result<StepStart>> HeldWorkflow::begin_step(uint32_t position, std::string name, StepInputs inputs) {
  CO_CHECKED(check_step_name(name));
  if (running_ && !is_busy_ && running_->position == position && running_->name == name)
    co_return StepStart{StepStart::RunEvent::run, {}};
  if (running_ || is_busy_)
    co_return fail(Code::invalid,
                   fmt::format("step '{}' of workflow '{}' cannot begin: {}", name, id_.name,
                               running_ ? "step '" + running_->name + "' has not ended" : "another one is beginning"),
                   kOneAfterAnother);
  if (position > workflow_.steps)
    co_return fail(Code::invalid, fmt::format("workflow '{}' has {} recorded steps, so no step can begin at {}",
                                              id_.name, workflow_.steps, position));
  if (position >= limits_.steps)
    co_return fail(Code::exhausted,
                   fmt::format("workflow '{}' has {} steps, the most of one workflow", id_.name, limits_.steps),
                   "do more in each step, or use more workflows", "workflows.steps");
  const Busy busy(is_busy_);
  if (position < workflow_.steps) {
    CO_TRY(const StoredStep* step, co_await recorded(position));
    const bool runs_again = step->state == StepState::failed && position + 1 == workflow_.steps;
    // A step that runs again takes the values of now.
    const StepInputs compared = runs_again ? StepInputs() : inputs;
    CO_CHECKED(check_record(*step, name, compared));
    if (!runs_again)
      co_return StepStart{
          step->state == StepState::finished ? StepStart::RunEvent::finished : StepStart::RunEvent::failed,
          step->value};
  }
  if (store_.refusal_)
    if (auto refused = store_.refusal_()) co_return tl::unexpected<Error>(*std::move(refused));
  running_ = Running{position, std::move(name), std::move(inputs)};
  calls_ = 0;
  co_return StepStart{StepStart::RunEvent::run, {}};
}

tl::unexpected<Error> HeldWorkflow::too_long(size_t bytes) const {
  return fail(
      Code::exhausted,
      fmt::format("the value of step '{}' has {} bytes as JSON, {} are allowed", running_->name, bytes, kMaxValueBytes),
      "write it to a file of the workspace, and return the file's name", "workflows");
}

Result<> HeldWorkflow::add_to_value(std::string_view part) {
  if (!running_ || is_busy_) return fail(Code::invalid, fmt::format("no step of workflow '{}' runs", id_.name));
  if (running_->value.size() + part.size() > kMaxValueBytes) return too_long(running_->value.size() + part.size());
  running_->value += part;
  return {};
}

Task<Result<>> HeldWorkflow::end_step(Ending ending) {
  CO_CHECKED(check_step_name(ending.name));
  if (!running_ && ending.position == workflow_.steps && !is_busy_) {
    CO_CHECKED(co_await begin_step(ending.position, ending.name, std::move(ending.inputs)));
  }
  if (!running_ || is_busy_ || running_->position != ending.position || running_->name != ending.name)
    co_return fail(Code::invalid, fmt::format("step {} of workflow '{}' does not run", ending.position, id_.name));
  const Busy busy(is_busy_);
  StoredStep step;
  step.position = ending.position;
  step.state = ending.state;
  if (step.state == StepState::failed) {
    step.value = cut_message(std::move(ending.value));
  } else {
    step.value = std::move(running_->value) + ending.value;
  }
  if (step.value.size() > kMaxValueBytes) {
    auto refused = too_long(step.value.size());
    running_.reset();
    co_return refused;
  }
  step.name = std::move(running_->name);
  step.inputs = running_->inputs.text();
  running_.reset();
  step.attempts = ending.attempts;
  step.execution = execution_;
  step.ended_ms = store_.now_();
  const int64_t expires_ms = store_.retention_() + std::chrono::milliseconds(limits_.keep).count();
  std::erase_if(ahead_, [&step](const StoredStep& stored_step) { return stored_step.position == step.position; });
  CO_TRY(tenant_bytes_, co_await store_.disk_.put(id_, std::move(step), expires_ms, limits_));
  workflow_.steps = std::max(workflow_.steps, ending.position + 1);
  co_return Result<>{};
}

Task<Result<std::unique_ptr<HeldWorkflow>>> WorkflowStore::hold(WorkflowId id, std::string execution,
                                                                WorkflowLimits limits) {
  CO_CHECKED(check_workflow_name(id.name));
  if (limits.workflows == 0)
    co_return fail(Code::denied, "the policy allows no workflows",
                   "run the code without warder.workflow, or ask the administrator to raise workflows.max",
                   "workflows.max");
  if (const auto it = holders_.find(id); it != holders_.end()) co_return is_held(id.name, it->second);
  holders_.emplace(id, execution);
  std::unique_ptr<HeldWorkflow> workflow(new HeldWorkflow(*this, std::move(id), std::move(execution), limits));
  CO_CHECKED(co_await workflow->open());
  co_return workflow;
}

std::string WorkflowStore::holder(const WorkflowId& id) const {
  const auto it = holders_.find(id);
  return it == holders_.end() ? std::string() : it->second;
}

Task<Result<WorkflowDisk::Removed>> WorkflowStore::remove(WorkflowId id) {
  CO_CHECKED(check_workflow_name(id.name));
  if (const std::string execution = holder(id); !execution.empty()) co_return is_held(id.name, execution);
  const std::string name = id.name;
  CO_TRY(const WorkflowDisk::Removed removed, co_await disk_.remove(std::move(id)));
  if (!removed.existed)
    co_return fail(Code::not_found, fmt::format("there is no workflow '{}'", name),
                   "resources/list has the workflows of this workspace");
  co_return removed;
}

Task<uint64_t> WorkflowStore::tidy() {
  if (is_removal_by_age_paused()) co_return 0;
  std::vector<WorkflowId> workflow_ids;
  for (const auto& [id, execution] : holders_) workflow_ids.push_back(id);
  auto expired = co_await disk_.expire(retention_(), std::move(workflow_ids));
  if (!expired) log_warning("expired workflows were not removed: {}", expired.error().what);
  co_return expired.value_or(0);
}

}  // namespace workflows
