#include "supervisor/upstream/calls/progress_relay.h"

#include <fmt/format.h>

#include <cmath>

#include "supervisor/upstream/question.h"

namespace calls {

ProgressRelay::ProgressRelay(Loop& loop, Texts texts, std::function<void(const Value&)> tell)
    : loop_(loop), texts_(texts), tell_(std::move(tell)) {}

void ProgressRelay::take(double value, std::optional<double> total, std::string_view text) {
  if (!std::isfinite(value) || (highest_ && value <= *highest_)) return;
  highest_ = value;
  if (total && !std::isfinite(*total)) total.reset();
  last_ = Value{value, total, {}};
  if (texts_ == Texts::passed) last_->text = upstream::shown_text(text, kMaxText, upstream::Newlines::replace);
  refill();
  if (left_ > 0) return tell_last();
  if (!later_) wait_for_a_place();
}

void ProgressRelay::wait_for_a_place() {
  later_.emplace(loop_, kEvery, [this] {
    later_.reset();
    refill();
    if (left_ > 0) return tell_last();
    wait_for_a_place();  // a value that came meanwhile took the place
  });
}

void ProgressRelay::refill() {
  const auto passed = (Monotonic::now() - filled_) / kEvery;
  filled_ += passed * kEvery;
  left_ = static_cast<unsigned>(std::min<int64_t>(left_ + passed, kBurst));
}

void ProgressRelay::tell_last() {
  if (!last_) return;
  left_--;
  const Value told = *std::exchange(last_, {});
  tell_(told);
}

std::string progress_line(std::string_view server, std::string_view tool, const ProgressRelay::Value& told) {
  std::string line =
      fmt::format("{}.{}: {}", server, upstream::shown_text(tool, 128, upstream::Newlines::replace), told.value);
  if (told.total) line += fmt::format(" of {}", *told.total);
  if (!told.text.empty()) line += ": " + told.text;
  return line;
}

}  // namespace calls
