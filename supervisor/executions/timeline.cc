#include "supervisor/executions/timeline.h"

#include <cmath>

#include "jail/execution/outcome.h"

namespace executions {
namespace {

constexpr double kFirstClassUsec = 250;
constexpr int64_t kMinute = 60;
constexpr uint32_t kMaxStep = 86'400;
constexpr size_t kOther = kOutcomeKinds - 1;

size_t outcome_index(std::string_view outcome) {
  for (size_t i = 0; i < kOther; i++)
    if (outcome_kind(i) == outcome) return i;
  return kOther;
}

template <class Count>
void add_to(Count& count, uint64_t more) {
  count = static_cast<Count>(std::min<uint64_t>(count + more, std::numeric_limits<Count>::max()));
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
  for (size_t i = 0; i < kOutcomeKinds; i++) add_to(into.outcomes[i], from.outcomes[i]);
  for (size_t i = 0; i < into.answers.kClasses; i++) add_to(into.answers.counts[i], from.answers.counts[i]);
}

int64_t step_of(int64_t second, int64_t step) {
  const int64_t past = second % step;
  return second - (past < 0 ? past + step : past);
}

double upper_bound_of(size_t index) { return kFirstClassUsec * std::exp2(static_cast<double>(index) / 2); }

std::vector<uint64_t> row_of(const TimelineBin<uint64_t>& bin) {
  uint64_t answers = 0;
  for (const uint64_t count : bin.answers.counts) answers += count;
  std::vector<uint64_t> row = {static_cast<uint64_t>(bin.second) * 1'000'000,
                               bin.seconds,
                               bin.running,
                               bin.waiting,
                               bin.frozen,
                               bin.waiting_jails,
                               bin.memory_bytes,
                               bin.cpu_usec,
                               answers,
                               quantile_of(bin.answers, 50),
                               quantile_of(bin.answers, 99)};
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

size_t answer_class(std::chrono::microseconds answered) {
  const double index = 2 * std::log2(std::max<double>(static_cast<double>(answered.count()), 1) / kFirstClassUsec);
  return index <= 0 ? 0 : std::min(static_cast<size_t>(std::ceil(index)), AnswerHistogram<uint16_t>::kClasses - 1);
}

uint64_t quantile_of(const AnswerHistogram<uint64_t>& answers, double percent) {
  uint64_t all = 0;
  for (const uint64_t count : answers.counts) all += count;
  if (all == 0) return kUnknown;
  const double rank = std::max(1.0, static_cast<double>(all) * percent / 100);
  double before = 0;
  for (size_t i = 0; i < answers.kClasses; i++) {
    const auto count = static_cast<double>(answers.counts[i]);
    if (count > 0 && before + count >= rank) {
      const double low = i == 0 ? 0 : upper_bound_of(i - 1), high = upper_bound_of(i);
      return static_cast<uint64_t>(low + (high - low) * (rank - before) / count);
    }
    before += count;
  }
  return static_cast<uint64_t>(upper_bound_of(answers.kClasses - 1));
}

std::string_view outcome_kind(size_t index) {
  return index < kOther ? jail::outcome_name(static_cast<jail::Outcome>(index)) : "other";
}
static_assert(kOther == jail::kOutcomes, "every outcome has its count");

void Timeline::add(std::string_view outcome, std::optional<std::chrono::microseconds> answered) {
  add_to(open_.outcomes[outcome_index(outcome)], 1);
  if (answered) add_to(open_.answers.counts[answer_class(*answered)], 1);
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
  for (const uint64_t count : in_all.answers.counts) range.answers += count;
  range.p50 = quantile_of(in_all.answers, 50);
  range.p90 = quantile_of(in_all.answers, 90);
  range.p99 = quantile_of(in_all.answers, 99);
  return range;
}

}  // namespace executions
