// MoveGate: holds requests for a workspace while it moves to another node, and counts the requests that run for it
// here. A held request waits until the move has ended either way; then its home is asked for again.
// Used by: request_router.h, home_mover.h, home_receiver.h. Errors: unavailable: too many requests wait, or for too
// long; no part of a held request ran.
#pragma once
#include <chrono>
#include <list>
#include <map>
#include <memory>

#include "policies/tenant_id.h"
#include "supervisor/base/loop.h"

namespace cluster {

class MoveGate {
 public:
  static constexpr size_t kMaxWaiting = 512;           // requests of one workspace
  static constexpr std::chrono::seconds kMaxWait{90};  // of one request

  explicit MoveGate(Loop& loop) : loop_(loop), state_(std::make_shared<State>()) {}
  MoveGate(const MoveGate&) = delete;

 private:
  struct State;

 public:
  // While it exists, requests of the workspace wait. The gate may end before it.
  class [[nodiscard]] Hold {
   public:
    Hold() = default;  // holds no workspace
    Hold(Hold&& other) noexcept = default;
    Hold& operator=(Hold&& other) noexcept {
      release();
      gate_ = std::move(other.gate_), id_ = std::move(other.id_);
      return *this;
    }
    ~Hold() { release(); }

   private:
    friend class MoveGate;
    Hold(std::shared_ptr<State> gate, tenants::TenantId id) : gate_(std::move(gate)), id_(std::move(id)) {}
    void release();
    std::shared_ptr<State> gate_;  // nullptr: holds no workspace
    tenants::TenantId id_;
  };
  Hold hold(const tenants::TenantId& id);
  bool is_held(const tenants::TenantId& id) const { return state_->reserved.contains(id); }

  // Returns when the workspace is not held, at once if it is not.
  Task<Result<>> pass(tenants::TenantId id);
  // Counts a request that runs here for the workspace, for as long as the result exists.
  std::shared_ptr<const void> stay(const tenants::TenantId& id);
  size_t staying(const tenants::TenantId& id) const;

 private:
  struct Held {
    size_t holds = 0;
    std::list<std::weak_ptr<Event>> waiting;
  };
  struct State {
    std::map<tenants::TenantId, Held> reserved;
    std::map<tenants::TenantId, size_t> staying;
  };
  struct Stay;

  Loop& loop_;
  std::shared_ptr<State> state_;
};

}  // namespace cluster
