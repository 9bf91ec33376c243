#include "supervisor/upstream/resumption.h"

#include <algorithm>

namespace upstream {

void Resumption::note(const http::EventStream& events) {
  if (const auto retry = events.retry_ms())
    pause_ = std::clamp(std::chrono::milliseconds(*retry), kMinPause, kMaxPause);
  if (events.last_id() == last_id_ || (events.last_id().empty() && !events.has_ids())) return;
  last_id_ = events.last_id();
  in_vain_ = 0;
}

std::optional<std::chrono::milliseconds> Resumption::next_pause() {
  if (in_vain_ >= kMaxInVain || in_all_ >= kMaxInAll) return {};
  in_all_++;
  return std::min(pause_ * (1 << in_vain_++), kMaxPause);
}

}  // namespace upstream
