#include "supervisor/executions/timeline.h"

#include "jail/execution/outcome.h"

namespace executions {
namespace {

constexpr int64_t kMinute = 60;
constexpr uint32_t kMaxStep = 86'400;
constexpr size_t kOther = kOutcomeKinds - 1;

size_t outcome_index(std::string_view outcome) {
  for (size_t i = 0; i < kOther; i++)
    if (outcome_kind(i) == outcome) return i;
  return kOther;
}

// Adds a later bin to `into`, which keeps its first second.
template <class Into, class From>
void merge(TimelineBin<Into>& into, const TimelineBin<From>& from) {
  into.cpu_usec = into.cpu_usec == kUnknown || from.cpu_usec == kUnknown ? kUnknown : into.cpu_usec + from.cpu_usec;
  into.memory_bytes = std::max(into.memory_bytes, from.memory_bytes);
  into.seconds += from.seconds;
  into.running = std::max(into.running, from.running);
  into.waiting = std::max(into.waiting, from.waiting);
  into.frozen = std::max(into.frozen, from.frozen);
  into.waiting_jails = std::max(into.waiting_jails, from.waiting_jails);
  for (size_t i = 0; i < kOutcomeKinds; i++) add_bounded(into.outcomes[i], from.outcomes[i]);
  into.answers.add(from.answers);
}

int64_t step_of(int64_t second, int64_t step) {
  const int64_t past = second % step;
  return second - (past < 0 ? past + step : past);
}

std::vector<uint64_t> row_of(const TimelineBin<uint64_t>& bin) {
  std::vector<uint64_t> row = {static_cast<uint64_t>(bin.second) * 1'000'000,
                               bin.seconds,
                               bin.running,
                               bin.waiting,
                               bin.frozen,
                               bin.waiting_jails,
                               bin.memory_bytes,
                               bin.cpu_usec,
                               bin.answers.count(),
                               bin.answers.quantile(50).value_or(kUnknown),
                               bin.answers.quantile(99).value_or(kUnknown)};
  row.insert(row.end(), bin.outcomes.begin(), bin.outcomes.end());
  return row;
}

std::vector<std::string> column_names() {
  std::vector<std::string> names = {"TimeUSec", "Seconds",       "Running",      "Waiting",
                                    "Frozen",   "WaitingJails",  "MemoryBytes",  "CPUUSec",
                                    "Answers",  "AnswerP50USec", "AnswerP99USec"};
  for (size_t i = 0; i < kOutcomeKinds; i++) names.emplace_back(outcome_kind(i));
  return names;
}

}  // namespace

std::string_view outcome_kind(size_t index) {
  return index < kOther ? jail::outcome_name(static_cast<jail::Outcome>(index)) : "other";
}
static_assert(kOther == jail::kOutcomes, "every outcome has its count");

void Timeline::add(std::string_view outcome, std::optional<std::chrono::microseconds> answered) {
  add_bounded(open_.outcomes[outcome_index(outcome)], 1);
  if (answered) open_.answers.add(answered->count());
}

void Timeline::close(int64_t second, const TimelineState& state) {
  if (!closed_) {  // the daemon has just started
    closed_ = second;
    cpu_ = state.cpu_usec;
    return;
  }
  if (second <= *closed_) return;
  open_.second = *closed_;
  open_.seconds = static_cast<uint32_t>(second - open_.second);
  closed_ = second;
  open_.running = state.running;
  open_.waiting = state.waiting;
  open_.frozen = state.frozen;
  open_.waiting_jails = state.waiting_jails;
  open_.memory_bytes = state.memory_bytes;
  // The CPU time of an execution without a cgroup is added at its end, all at once. That second is not measured, too.
  const bool is_measured = state.has_cpu && cpu_;
  open_.cpu_usec = is_measured ? std::max(state.cpu_usec, *cpu_) - *cpu_ : kUnknown;
  cpu_ = state.has_cpu ? std::optional(state.cpu_usec) : std::nullopt;
  seconds_.push(open_);
  if (minute_ && step_of(open_.second, kMinute) != minute_->second) {
    minutes_.push(*minute_);
    minute_.reset();
  }
  if (!minute_) minute_ = Minute{.second = step_of(open_.second, kMinute)};
  merge(*minute_, open_);
  open_ = {};
}

Result<TimelineRange> Timeline::read(const Query& request, int64_t epoch) const {
  if (request.step == 0 || request.step > kMaxStep || (request.step > kMinute && request.step % kMinute != 0))
    return fail(Code::invalid, "step: " + std::to_string(request.step) + " is not a step of the timeline, in seconds",
                "give 1 to 60, or a multiple of 60 up to 86400");
  TimelineRange range;
  range.columns = column_names();
  std::optional<TimelineBin<uint64_t>> step;
  TimelineBin<uint64_t> in_all;
  auto end_step = [&] {
    if (step) range.rows.push_back(row_of(*step));
    step.reset();
  };
  auto take = [&](const auto& bin) {
    const int64_t begin = step_of(bin.second + epoch, request.step);
    if (bin.second + epoch < request.from || bin.second + epoch >= request.until) return;
    if (step && step->second != begin) end_step();
    if (!step) step = TimelineBin<uint64_t>{.second = begin};
    merge(*step, bin);
    merge(in_all, bin);
  };
  if (request.step < kMinute) {
    seconds_.each(take);
  } else {
    minutes_.each(take);
    if (minute_) take(*minute_);
  }
  end_step();
  range.answers = in_all.answers.count();
  range.p50 = in_all.answers.quantile(50).value_or(kUnknown);
  range.p90 = in_all.answers.quantile(90).value_or(kUnknown);
  range.p99 = in_all.answers.quantile(99).value_or(kUnknown);
  return range;
}

}  // namespace executions
