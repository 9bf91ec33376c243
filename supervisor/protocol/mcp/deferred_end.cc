#include "supervisor/protocol/mcp/deferred_end.h"

#include <utility>

namespace mcp {

DeferredEnd::DeferredEnd(Loop& loop, std::function<void()> on_end)
    : loop_(loop), on_end_(std::make_shared<std::function<void()>>(std::move(on_end))) {}

void DeferredEnd::begin() {
  if (std::exchange(has_started_, true)) return;
  loop_.defer([waiting = std::weak_ptr(on_end_)] {
    const auto alive = waiting.lock();
    if (!alive) return;
    const auto on_end = std::move(*alive);  // destroys the connection
    on_end();
  });
}

}  // namespace mcp
