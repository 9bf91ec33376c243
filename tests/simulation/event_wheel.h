// EventWheel: events by their time. Near ones in a ring of short lists, one for each microsecond, so that an event
// costs some nanoseconds however many there are; far ones in a heap. Events of one microsecond come in the order of
// add().
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

namespace simulation {

template <class Event>
class EventWheel {
 public:
  // `at_us` must not be before the time of the last event that next() returned.
  void add(double at_us, const Event& event) {
    const auto tick = static_cast<uint64_t>(at_us);
    if (tick >= now_ + kTicks)
      far_.push({at_us, order_++, event});
    else
      add_near(at_us, event);
  }

  // The next event with its time; false: there is none before `end_us`.
  bool next(double end_us, double& at_us, Event& event) {
    for (const auto end = static_cast<uint64_t>(end_us); now_ < end;) {
      Slot& slot = ring_[now_ % kTicks];
      if (taken_ < slot.size()) {
        std::tie(at_us, event) = slot[taken_++];
        --near_;
        return true;
      }
      slot.clear();
      taken_ = 0;
      // With an empty ring straight to the next far event, or to the end.
      now_ = near_ > 0 ? now_ + 1 : far_.empty() ? end : std::max(now_ + 1, static_cast<uint64_t>(far_.top().at_us));
      while (!far_.empty() && static_cast<uint64_t>(far_.top().at_us) < now_ + kTicks) {
        const Far& due = far_.top();
        add_near(due.at_us, due.event);
        far_.pop();
      }
    }
    return false;
  }

 private:
  void add_near(double at_us, const Event& event) {
    ring_[static_cast<uint64_t>(at_us) % kTicks].push_back({at_us, event});
    ++near_;
  }

  static constexpr uint64_t kTicks = 1U << 14U;  // 16 ms: most events are nearer
  using Slot = std::vector<std::pair<double, Event>>;
  struct Far {
    double at_us;
    uint64_t order;
    Event event;
    bool operator<(const Far& other) const {  // the earliest is the heap's top
      return at_us != other.at_us ? at_us > other.at_us : order > other.order;
    }
  };

  std::vector<Slot> ring_ = std::vector<Slot>(kTicks);
  std::priority_queue<Far> far_;
  uint64_t now_ = 0;
  size_t near_ = 0;   // events in the ring
  size_t taken_ = 0;  // events of the present microsecond that next() has returned
  uint64_t order_ = 0;
};

}  // namespace simulation
