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
    const auto found = state->staying.find(id);
    if (--found->second == 0) state->staying.erase(found);
  }
};

MoveGate::Hold MoveGate::hold(const tenants::TenantId& id) {
  state_->held[id].holds++;
  return Hold(state_, id);
}

// The waiting tasks continue in later turns: a task may end the hold's owner.
void MoveGate::Hold::release() {
  const auto state = std::exchange(gate_, nullptr);
  if (!state) return;
  const auto found = state->held.find(id_);
  if (found == state->held.end() || --found->second.holds > 0) return;
  const auto waiting = std::move(found->second.waiting);
  state->held.erase(found);
  for (const auto& one : waiting)
    if (const auto event = one.lock()) event->fire();
}

Task<Result<>> MoveGate::pass(tenants::TenantId id) {
  const auto until = Monotonic::now() + kMaxWait;
  while (is_held(id)) {
    Held& held = state_->held[id];
    std::erase_if(held.waiting, [](const auto& one) { return one.expired(); });
    if (held.waiting.size() >= kMaxWaiting)
      co_return fail(Code::unavailable, "the workspace moves to another node, and too many requests wait for it",
                     "send the request again in some seconds");
    const auto event = std::make_shared<Event>();
    held.waiting.push_back(event);
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Monotonic::now());
    const Deadline late(loop_, std::max(left, std::chrono::milliseconds(1)), [event] { event->fire(); });
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
  const auto found = state_->staying.find(id);
  return found == state_->staying.end() ? 0 : found->second;
}

}  // namespace cluster
