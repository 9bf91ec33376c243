#include "supervisor/upstream/calls/progress_relay.h"

#include <fmt/format.h>

#include <cmath>

#include "supervisor/upstream/question.h"

namespace calls {

ProgressRelay::ProgressRelay(Loop& loop, Texts texts, std::function<void(const Value&)> notify)
    : loop_(loop), texts_(texts), report_(std::move(notify)) {}

void ProgressRelay::take(double value, std::optional<double> total, std::string_view text) {
  if (!std::isfinite(value) || (highest_ && value <= *highest_)) return;
  highest_ = value;
  if (total && !std::isfinite(*total)) total.reset();
  last_ = Value{value, total, {}};
  if (texts_ == Texts::passed) last_->text = upstream::shown_text(text, kMaxText, upstream::Newlines::replace);
  refill();
  if (remaining_ > 0) return report_last();
  if (!later_) wait_for_slot();
}

void ProgressRelay::wait_for_slot() {
  later_.emplace(loop_, kEvery, [this] {
    later_.reset();
    refill();
    if (remaining_ > 0) return report_last();
    wait_for_slot();  // a value that came meanwhile took the place
  });
}

void ProgressRelay::refill() {
  const auto passed = (Monotonic::now() - filled_) / kEvery;
  filled_ += passed * kEvery;
  remaining_ = static_cast<unsigned>(std::min<int64_t>(remaining_ + passed, kBurst));
}

void ProgressRelay::report_last() {
  if (!last_) return;
  remaining_--;
  const Value report = *std::exchange(last_, {});
  report_(report);
}

std::string progress_line(std::string_view server, std::string_view tool, const ProgressRelay::Value& report) {
  std::string line =
      fmt::format("{}.{}: {}", server, upstream::shown_text(tool, 128, upstream::Newlines::replace), report.value);
  if (report.total) line += fmt::format(" of {}", *report.total);
  if (!report.text.empty()) line += ": " + report.text;
  return line;
}

}  // namespace calls
