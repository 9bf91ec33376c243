// Task<T>: one piece of work on the event loop. Lazy, movable, owned.
//
//   co_await task      run it, wait for it, take its value
//   start(task)        let it run in parallel; co_await it later
//   destroying it      cancels it: its locals are destroyed where it waits
//
// One thread only. A task must not destroy itself: cancel it from the loop (Loop::defer).
// Lifetime: a reference given to a task must live until the task is done.
// g++ 12 miscompiles some shapes of awaited expressions; tests/lint/coroutine_shapes.py finds them.
#pragma once
#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

namespace task_detail {

struct PromiseBase {
  std::coroutine_handle<> parent;
  bool parent_waits = false;  // the parent has really suspended
  std::exception_ptr bug;     // an exception is a bug; the co_await rethrows it

  std::suspend_always initial_suspend() noexcept { return {}; }
  struct Final {
    bool await_ready() noexcept { return false; }
    template <class P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> self) noexcept {
      auto& promise = self.promise();
      if (promise.parent_waits) return promise.parent;
      return std::noop_coroutine();
    }
    void await_resume() noexcept {}
  };
  Final final_suspend() noexcept { return {}; }
  void unhandled_exception() noexcept { bug = std::current_exception(); }
};

template <class T>
struct Promise : PromiseBase {
  std::optional<T> value;
  std::coroutine_handle<Promise> get_return_object() { return std::coroutine_handle<Promise>::from_promise(*this); }
  template <class U>
  void return_value(U&& v) {
    value.emplace(std::forward<U>(v));
  }
  T take() {
    if (bug) std::rethrow_exception(bug);
    return *std::move(value);
  }
};

template <>
struct Promise<void> : PromiseBase {
  std::coroutine_handle<Promise> get_return_object() { return std::coroutine_handle<Promise>::from_promise(*this); }
  void return_void() {}
  void take() {
    if (bug) std::rethrow_exception(bug);
  }
};

}  // namespace task_detail

template <class T = void>
class [[nodiscard]] Task {
 public:
  using promise_type = task_detail::Promise<T>;
  using Handle = std::coroutine_handle<promise_type>;

  Task(Handle h) : h_(h) {}
  Task(Task&& other) noexcept : h_(std::exchange(other.h_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(h_, other.h_);
    return *this;
  }
  ~Task() {
    if (h_) h_.destroy();
  }
  bool done() const { return h_.done(); }
  void resume() { h_.resume(); }

  // Runs the child inline up to its first real wait. If the child needs no wait, the parent continues without
  // suspending, so a loop over ready work needs no tail calls (g++ 12 makes no tail calls at -O0).
  auto operator co_await() && noexcept {
    struct Awaiter {
      Handle h;
      bool await_ready() noexcept { return h.done(); }
      bool await_suspend(std::coroutine_handle<> parent) {
        h.promise().parent = parent;
        h.resume();
        if (h.done()) return false;
        h.promise().parent_waits = true;
        return true;
      }
      T await_resume() { return h.promise().take(); }
    };
    return Awaiter{h_};
  }

 private:
  template <class U>
  friend class Started;
  Handle h_;
};

// Started<T>: a task that already runs. co_await takes its value; destroying it cancels the task.
template <class T>
class [[nodiscard]] Started {
 public:
  explicit Started(Task<T> task) : task_(std::move(task)) { task_.resume(); }
  bool done() const { return task_.done(); }
  auto operator co_await() & noexcept {
    struct Awaiter {
      typename Task<T>::Handle h;
      bool await_ready() noexcept { return h.done(); }
      void await_suspend(std::coroutine_handle<> parent) {
        h.promise().parent = parent;
        h.promise().parent_waits = true;
      }
      T await_resume() { return h.promise().take(); }
    };
    return Awaiter{task_.h_};
  }

 private:
  Task<T> task_;
};
template <class T>
Started<T> start(Task<T> task) {
  return Started<T>(std::move(task));
}
