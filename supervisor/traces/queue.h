// Queue: spans that ended and wait to be sent, the newest kMost of them. Taking one in costs a microsecond and waits
// for nothing: a collector that is slow, or away, costs spans and never an execution's time.
// Source: open_span.cc. Emptied by: exporter.cc. No errors: what finds no room is counted.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "supervisor/traces/span.h"

namespace traces {

class Queue {
 public:
  static constexpr size_t kMost = 2048;

  struct Counts {  // since the daemon started
    uint64_t exported = 0;
    uint64_t dropped = 0;  // no room, refused by the collector, or never taken by it
  };
  Counts counts;
  // Told of each span, within the call that adds it: note it, work later.
  std::function<void()> added;

  // In a full queue it takes the place of the oldest.
  void add(Span span);
  // The oldest, at most so many.
  std::vector<Span> take(size_t most);
  size_t size() const { return spans_.size(); }

 private:
  std::deque<Span> spans_;
};

}  // namespace traces
