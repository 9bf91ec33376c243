#include "supervisor/cluster/link/move_gate.h"

#include <utility>

namespace cluster {

struct MoveGate::Stay {
  std::shared_ptr<State> state;
  tenants::TenantId id;
  Stay(std::shared_ptr<State> of, tenants::TenantId workspace) : state(std::move(of)), id(std::move(workspace)) {
    state->staying[id]++;
  }
  Stay(const Stay&) = delete;
  ~Stay() {
    const auto it = state->staying.find(id);
    if (--it->second == 0) state->staying.erase(it);
  }
};

MoveGate::Hold MoveGate::hold(const tenants::TenantId& id) {
  state_->reserved[id].holds++;
  return Hold(state_, id);
}

// The waiting tasks continue in later turns: a task may end the hold's owner.
void MoveGate::Hold::release() {
  const auto state = std::exchange(gate_, nullptr);
  if (!state) return;
  const auto it = state->reserved.find(id_);
  if (it == state->reserved.end() || --it->second.holds > 0) return;
  const auto waiting = std::move(it->second.waiting);
  state->reserved.erase(it);
  for (const auto& item : waiting)
    if (const auto event = item.lock()) event->fire();
}

Task<Result<>> MoveGate::pass(tenants::TenantId id) {
  const auto until = Monotonic::now() + kMaxWait;
  while (is_held(id)) {
    Held& owned = state_->reserved[id];
    std::erase_if(owned.waiting, [](const auto& item) { return item.expired(); });
    if (owned.waiting.size() >= kMaxWaiting)
      co_return fail(Code::unavailable, "the workspace moves to another node, and too many requests wait for it",
                     "send the request again in some seconds");
    const auto event = std::make_shared<Event>();
    owned.waiting.push_back(event);
    const auto remaining = std::chrono::ceil<std::chrono::milliseconds>(until - Monotonic::now());
    const Deadline late(loop_, std::max(remaining, std::chrono::milliseconds(1)), [event] { event->fire(); });
    co_await *event;
    co_await next_turn(loop_);
    if (is_held(id) && Monotonic::now() >= until)
      co_return fail(Code::unavailable, "the workspace moves to another node, and this takes long",
                     "send the request again in a minute");
  }
  co_return Result<>{};
}

std::shared_ptr<const void> MoveGate::stay(const tenants::TenantId& id) { return std::make_shared<Stay>(state_, id); }

size_t MoveGate::staying(const tenants::TenantId& id) const {
  const auto it = state_->staying.find(id);
  return it == state_->staying.end() ? 0 : it->second;
}

}  // namespace cluster
