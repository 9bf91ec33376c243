// RunnerIds: host ids for the runners of jails, one for each living jail. So the limits and rights that the kernel
// counts by user are never shared between two tenants. The forks of a zygote, all of one tenant, share the id of its
// home.
// Source: IdRange (jail/id_range.h). Used by: jail/jail.cc.
#pragma once
#include <cstdint>
#include <memory>
#include <set>
#include <utility>

namespace jail {

class RunnerIds {
  struct State {
    uint32_t next, end;
    std::set<uint32_t> free;
  };

 public:
  // Ids from `first` on, at most `count`.
  RunnerIds(uint32_t first, uint32_t count) : state_(std::make_shared<State>(State{first, first + count, {}})) {}

  // Returns its id when it is destroyed, which must be after the last process of that id is gone. May outlive
  // RunnerIds.
  class [[nodiscard]] Lease {
   public:
    Lease() = default;
    Lease(Lease&& other) noexcept = default;
    Lease& operator=(Lease&& other) noexcept {
      std::swap(state_, other.state_);
      std::swap(id_, other.id_);
      return *this;
    }
    ~Lease() {
      if (state_) state_->free.insert(id_);
    }
    explicit operator bool() const { return static_cast<bool>(state_); }
    uint32_t id() const { return id_; }

   private:
    friend class RunnerIds;
    Lease(std::shared_ptr<State> state, uint32_t id) : state_(std::move(state)), id_(id) {}
    std::shared_ptr<State> state_;
    uint32_t id_ = 0;
  };

  // The lowest free id, so that a mount mapping made for it can be used again; an empty lease when all ids are in use.
  Lease take() {
    if (!state_->free.empty()) return Lease(state_, state_->free.extract(state_->free.begin()).value());
    return state_->next < state_->end ? Lease(state_, state_->next++) : Lease();
  }

 private:
  std::shared_ptr<State> state_;
};

}  // namespace jail
