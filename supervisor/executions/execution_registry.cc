#include "supervisor/executions/execution_registry.h"

#include <algorithm>
#include <cmath>

#include "jail/execution/execution.h"
#include "jail/execution/outcome.h"
#include "jail/spec.h"
#include "supervisor/executions/execution_log.h"
#include "supervisor/records/journal/journal.h"

namespace executions {
namespace {

using namespace std::chrono_literals;

constexpr size_t kEndedKept = 100;
constexpr int64_t kEndedKeptMs = 60'000;
constexpr std::string_view kStageNames[] = {"waiting", "starting", "running", "frozen", "ended"};
// Outcomes of executions that used more than the policy allows.
constexpr std::string_view kLimitOutcomes[] = {"timeout", "cpu_time", "memory", "pids", "output", "disk"};
static_assert(std::all_of(std::begin(kLimitOutcomes), std::end(kLimitOutcomes), jail::is_outcome_name));

}  // namespace

std::string_view stage_name(Stage stage) { return kStageNames[static_cast<size_t>(stage)]; }

jail::LiveUsage ExecutionRecord::now() const {
  if (stage != Stage::ended) return handle.usage();
  return {usage.wall_ms, usage.cpu_ms, usage.memory_peak_bytes, usage.processes_peak};
}

journal::Ended ended_with(const jail::JailUsage& usage) {
  journal::Ended ended;
  ended.wall_us = std::llround(usage.wall_ms * 1000);
  ended.cpu_us = usage.cpu_ms ? std::llround(*usage.cpu_ms * 1000) : journal::kCpuUnknown;
  ended.memory_peak_bytes = usage.memory_peak_bytes;
  ended.processes_peak = usage.processes_peak;
  return ended;
}

void RecentTimes::add(int64_t us) {
  all_.add(us);
  stale_ = true;
  if (times_.size() < journal::kNewest) {
    times_.push_back(us);
    return;
  }
  times_[next_] = us;
  next_ = (next_ + 1) % times_.size();
}

const Quantiles& RecentTimes::quantiles() const {
  if (std::exchange(stale_, false)) quantiles_ = exact_quantiles(times_);
  return quantiles_;
}

ExecutionRegistry::Entry::Entry(ExecutionRegistry& registry, ExecutionRecordPtr execution)
    : registry_(registry), execution_(std::move(execution)) {
  registry_.living_.emplace(execution_->id, execution_);
  registry_.stages_[static_cast<size_t>(Stage::waiting)]++;
  execution_->handle.changed = [registry = &registry_, raw = execution_.get()] {
    const bool frozen = raw->handle.phase() == jail::Phase::frozen;
    registry->move(*raw, frozen ? Stage::frozen : Stage::running);
  };
  registry_.notify(execution_, RegistryEvent::started);
}

ExecutionRegistry::Entry::~Entry() {
  if (execution_->stage == Stage::ended) return;
  if (execution_->stage == Stage::waiting && execution_->message.empty())
    execution_->message = "cancelled while it waited for its turn; it did not run";
  const jail::LiveUsage used = execution_->now();
  execution_->usage = {used.wall_ms, used.cpu_ms, used.memory_bytes, used.tasks};
  journal::Ended ended = ended_with(execution_->usage);
  ended.outcome = execution_->outcome = "cancelled";
  if (execution_->stage != Stage::waiting) {
    registry_.sums_.totals.add(execution_->language, ended);
    registry_.of_tenant_[execution_->tenant.account].add(execution_->language, ended);
    registry_.of_language_[execution_->language].totals.add(execution_->language, ended);
  }
  registry_.finish(execution_);
  log_ended(registry_.loop_, execution_);
}

void ExecutionRegistry::Entry::start(const std::string& language, const policies::Limits& limits) {
  execution_->language = language;
  execution_->limits = limits;
  execution_->withdraw = nullptr;
  registry_.move(*execution_, Stage::starting);
}

void ExecutionRegistry::Entry::end(const jail::Report& report, const journal::Ended& ended) {
  ExecutionRecord& execution = *execution_;
  execution.outcome = ended.outcome;
  execution.message = report.message;
  execution.start = jail::start_name(report.start);
  execution.usage = report.usage;
  execution.receipt = report.receipt_json;
  execution.answered = std::chrono::microseconds(ended.took_us);
  for (Sums* sums : {&registry_.sums_, &registry_.of_language_[execution.language]}) {
    sums->totals.add(execution.language, ended);
    sums->starts[execution.start]++;
    sums->wall_times.add(ended.wall_us);
    sums->answer_times.add(ended.took_us);
  }
  registry_.of_tenant_[execution.tenant.account].add(execution.language, ended);
  registry_.finish(execution_);
  const bool limit =
      std::find(std::begin(kLimitOutcomes), std::end(kLimitOutcomes), ended.outcome) != std::end(kLimitOutcomes);
  if (limit) registry_.notify_of_limit(execution, ended.outcome);
}

void ExecutionRegistry::Entry::refuse(const Error& error) {
  if (execution_->stage == Stage::ended) return;
  ExecutionRecord& execution = *execution_;
  const bool policy = error.code == Code::denied || error.code == Code::exhausted || error.code == Code::invalid;
  execution.outcome = execution.handle.cancelled() ? "cancelled" : policy ? "denied" : "internal";
  const std::string& rule = execution.rule = error.rule.empty() ? std::string(code_name(error.code)) : error.rule;
  // Every user can read this message. The full text of a refusal may name data of the tenant, so only the caller gets
  // it.
  execution.message = policy ? "refused by " + rule : error.what;
  registry_.sums_.refused[rule]++;
  registry_.finish(execution_);
  if (error.code == Code::exhausted) registry_.notify_of_limit(execution, error.rule);
}

void ExecutionRegistry::Entry::pass(std::string outcome) {
  execution_->outcome = std::move(outcome);
  registry_.finish(execution_);
}

void ExecutionRegistry::move(ExecutionRecord& execution, Stage stage) {
  if (execution.stage == stage) return;
  stages_[static_cast<size_t>(execution.stage)]--;
  stages_[static_cast<size_t>(stage)]++;
  execution.stage = stage;
  if (stage != Stage::ended) notify(execution.shared_from_this(), RegistryEvent::changed);
}

void ExecutionRegistry::finish(const ExecutionRecordPtr& execution) {
  execution->ended_ms = journal::now_ms();
  execution->withdraw = nullptr;
  execution->handle.changed = nullptr;
  move(*execution, Stage::ended);
  stages_[static_cast<size_t>(Stage::ended)] = 0;  // ended_ counts ended executions
  living_.erase(execution->id);
  ended_.push_back(execution);
  notify(execution, RegistryEvent::ended);
  forget_old();
}

void ExecutionRegistry::forget_old() {
  const int64_t oldest = journal::now_ms() - kEndedKeptMs;
  while (!ended_.empty() && (ended_.size() > kEndedKept || ended_.front()->ended_ms < oldest)) {
    ExecutionRecordPtr execution_record_ptr = std::move(ended_.front());
    ended_.pop_front();
    notify(execution_record_ptr, RegistryEvent::forgotten);
  }
  if (ended_.empty() || forgetting_) return;
  const auto next = std::chrono::milliseconds(ended_.front()->ended_ms - oldest + 1);
  forgetting_.emplace(loop_, next, [this] {
    forgetting_.reset();
    forget_old();
  });
}

ExecutionRecordPtr ExecutionRegistry::find(std::string_view id) const {
  if (auto living = living_.find(id); living != living_.end()) return living->second;
  auto ended = std::find_if(ended_.begin(), ended_.end(), [&](const ExecutionRecordPtr& execution_record_ptr) {
    return execution_record_ptr->id == id;
  });
  return ended == ended_.end() ? nullptr : *ended;
}

std::vector<ExecutionRecordPtr> ExecutionRegistry::all() const {
  std::vector<ExecutionRecordPtr> all;
  for (const auto& [id, execution] : living_) all.push_back(execution);
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a->requested_ms < b->requested_ms; });
  all.insert(all.end(), ended_.begin(), ended_.end());
  return all;
}

uint32_t ExecutionRegistry::count(std::string_view tenant, Stage stage) const {
  return static_cast<uint32_t>(std::count_if(living_.begin(), living_.end(), [&](const auto& item) {
    return item.second->stage == stage && item.second->tenant.account == tenant;
  }));
}

const journal::Totals& ExecutionRegistry::totals_of(std::string_view tenant) const {
  static const journal::Totals kNone;
  auto it = of_tenant_.find(tenant);
  return it == of_tenant_.end() ? kNone : it->second;
}

void ExecutionRegistry::waits(std::string_view id, std::vector<std::string> approvals) {
  const auto living = living_.find(id);
  if (living == living_.end()) return;
  living->second->approvals = std::move(approvals);
  notify(living->second, RegistryEvent::changed);
}

void ExecutionRegistry::notify(const ExecutionRecordPtr& execution, RegistryEvent subject) const {
  observers_.each([&](const Observer& observer) { observer.changed(execution, subject); });
}

void ExecutionRegistry::notify_of_limit(const ExecutionRecord& execution, const std::string& limit) const {
  observers_.each([&](const Observer& observer) { observer.limit_reached(execution, limit); });
}

Result<> ExecutionRegistry::cancel(ExecutionRecord& execution) {
  if (execution.stage == Stage::ended)
    return fail(Code::unavailable, "execution '" + execution.id + "' has ended: " + execution.outcome);
  execution.handle.cancel();
  if (auto withdraw = std::exchange(execution.withdraw, nullptr)) withdraw();
  return {};
}

}  // namespace executions
