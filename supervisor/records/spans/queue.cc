#include "supervisor/records/spans/queue.h"

#include <algorithm>
#include <iterator>

namespace spans {

void Queue::add(Span span) {
  if (spans_.size() >= kMax) {
    spans_.pop_front();
    counts.dropped++;
  }
  spans_.push_back(std::move(span));
  if (added) added();
}

std::vector<Span> Queue::take(size_t max) {
  const auto end = spans_.begin() + static_cast<std::ptrdiff_t>(std::min(max, spans_.size()));
  std::vector<Span> spans(std::make_move_iterator(spans_.begin()), std::make_move_iterator(end));
  spans_.erase(spans_.begin(), end);
  return spans;
}

}  // namespace spans
