// Queue: ended spans that wait to be sent, at most kMax, the newest. Adding a span takes a microsecond and never
// waits: a slow or absent collector costs spans and never an execution's time.
// Source: open_span.cc. Emptied by: exporter.cc. No errors: spans without room are counted as dropped.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "supervisor/records/spans/span.h"

namespace spans {

class Queue {
 public:
  static constexpr size_t kMax = 2048;

  struct Counts {  // since the daemon started
    uint64_t exported = 0;
    uint64_t dropped = 0;  // no room, or refused or never taken by the collector
  };
  Counts counts;
  // Called by add() for each span. It should only note the span and work later.
  std::function<void()> added;

  // If the queue is full, the oldest span is dropped.
  void add(Span span);
  // Removes and returns the oldest spans, at most `most`.
  std::vector<Span> take(size_t max);
  size_t size() const { return spans_.size(); }

 private:
  std::deque<Span> spans_;
};

}  // namespace spans
