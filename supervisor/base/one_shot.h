// OneShot<T>: a value that one task waits for, and that other code sets later, once.
//
//   OneShot<int> answer(loop, -1);              a local of the waiting task
//   waiting.emplace(id, answer.resolver());     the other side; later: waiting.at(id).resolve(7)
//   const int value = co_await answer;
//
// Each side may be destroyed first. Without its OneShot (the task was cancelled), a Resolver has no effect. When the
// last Resolver is destroyed without a value, or none was ever made, the task gets the value `otherwise`. So no task
// waits for a value that cannot come.
// One thread only. The loop must outlive the OneShot. A Resolver may outlive both. No errors.
#pragma once
#include <coroutine>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "supervisor/base/loop.h"

template <class T = std::monostate>
class OneShot {
  struct State {
    State(Loop& on, T fallback) : loop(on), otherwise(std::move(fallback)) {}
    void set(T from) {
      if (!value) value.emplace(std::move(from));
    }
    void resume() {
      if (auto task = std::exchange(waiter, nullptr)) task.resume();
    }
    Loop& loop;
    T otherwise;
    std::optional<T> value;
    std::coroutine_handle<> waiter;  // nullptr: no task waits now
  };
  static void resume_later(const std::shared_ptr<State>& state) {
    if (!state->waiter) return;
    state->loop.defer([weak = std::weak_ptr(state)] {
      if (auto alive = weak.lock()) alive->resume();
    });
  }
  // The way from all resolvers to the state.
  struct Link {
    explicit Link(const std::shared_ptr<State>& to) : state(to) {}
    Link(const Link&) = delete;
    ~Link() {
      auto alive = state.lock();
      if (!alive || alive->value) return;
      alive->set(std::move(alive->otherwise));
      resume_later(alive);
    }
    std::weak_ptr<State> state;
  };

 public:
  explicit OneShot(Loop& loop, T otherwise = T{}) : state_(std::make_shared<State>(loop, std::move(otherwise))) {}
  OneShot(const OneShot&) = delete;

  // The right to set the value. Copies are equal: the first value counts, and a later one is destroyed at once.
  class Resolver {
   public:
    Resolver() = default;  // belongs to no OneShot, has no effect
    // False: the value is set, or the OneShot is destroyed.
    bool is_wanted() const { return wanted() != nullptr; }
    // The task resumes in a later turn of the loop. For tasks and destructors.
    void resolve(T value = T{}) const {
      const auto state = wanted();
      if (!state) return;
      state->set(std::move(value));
      resume_later(state);
    }
    // The task resumes before the call returns, and may destroy this Resolver. Only for callbacks of the loop, with no
    // task on the stack (a Deadline, Loop::defer).
    void resolve_now(T value = T{}) const {
      const auto state = wanted();
      if (!state) return;
      state->set(std::move(value));
      state->resume();
    }

   private:
    friend class OneShot;
    explicit Resolver(std::shared_ptr<Link> link) : link_(std::move(link)) {}
    std::shared_ptr<State> wanted() const {
      auto state = link_ ? link_->state.lock() : nullptr;
      return state && !state->value ? state : nullptr;
    }
    std::shared_ptr<Link> link_;
  };

  Resolver resolver() {
    auto link = link_.lock();
    if (!link) link_ = link = std::make_shared<Link>(state_);
    return Resolver(std::move(link));
  }

  // To be awaited once. If the value is set already, the task continues without a wait.
  auto operator co_await() noexcept {
    struct Awaiter {
      std::shared_ptr<State> state;
      bool has_resolvers;
      bool registered = false;
      bool await_ready() {
        if (!has_resolvers) state->set(std::move(state->otherwise));
        return state->value.has_value();
      }
      void await_suspend(std::coroutine_handle<> task) {
        registered = true;
        state->waiter = task;
      }
      T await_resume() { return *std::move(state->value); }
      ~Awaiter() {
        if (registered) state->waiter = nullptr;
      }
    };
    return Awaiter{state_, !link_.expired()};
  }

 private:
  std::shared_ptr<State> state_;
  std::weak_ptr<Link> link_;
};
