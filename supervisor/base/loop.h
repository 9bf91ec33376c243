// Loop: the event loop. libuv as three awaitables (readable, writable, sleep_for) and defer().
//
// All I/O is "try the system call, on EAGAIN wait for readiness". This allows what libuv's own streams cannot do:
// SCM_RIGHTS, SO_PEERCRED, pidfds, memfds, the sd-bus descriptor. libuv's thread pool is never used (uv_fs_*,
// uv_getaddrinfo, uv_queue_work): the process that clones stays single-threaded.
// Errors: only AsyncFd::adopt() can fail. An exception of a task is a bug: the Scope logs it, and the loop continues.
#pragma once
#include <uv.h>

#include <chrono>
#include <coroutine>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "supervisor/base/busy_time.h"
#include "supervisor/base/epoll_set.h"
#include "supervisor/base/fd.h"
#include "supervisor/base/result.h"
#include "supervisor/base/task.h"

// libuv frees handles late: uv_close() only starts the end. The box is deleted in the callback of uv_close().
struct UvClose {
  template <class Box>
  void operator()(Box* box) const {
    uv_close(reinterpret_cast<uv_handle_t*>(&box->handle), [](uv_handle_t* h) { delete static_cast<Box*>(h->data); });
  }
};
template <class Box>
using UvPtr = std::unique_ptr<Box, UvClose>;

class Scope;

class Loop {
 public:
  Loop();
  ~Loop();  // cancels every task, then waits for the cleanup that cancelled tasks started
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  uv_loop_t* uv() { return &uv_; }
  EpollSet& descriptors() { return *descriptors_; }
  BusyTime& busy_time() { return busy_; }
  // The number of turns so far. A turn is the work between two waits for events.
  uint64_t turn() const { return turn_; }
  // Runs until stop(), or until no handle or task is left to wait for.
  void run();
  void stop() { uv_stop(&uv_); }
  // Runs the loop until `done` returns true; for tests and start-up.
  void run_until(const std::function<bool()>& done);
  // True while a loop runs on the calling thread. A blocking call on that thread makes all clients wait.
  static bool runs_on_this_thread();

  // Runs fn from the loop, in a later turn, with no task on the stack.
  void defer(std::function<void()> fn);
  // Runs a task that no other task awaits. It ends by itself, or with the loop.
  void spawn(Task<> work);
  size_t live_tasks() const;
  void cancel_all();

 private:
  struct Deferred {
    uv_idle_t handle;
    std::vector<std::function<void()>> queue;
  };
  struct TurnEnd {
    uv_prepare_t handle;
    Loop* loop;
  };
  uv_loop_t uv_;
  BusyTime busy_;
  uint64_t turn_ = 0;
  UvPtr<TurnEnd> turn_end_;
  UvPtr<Deferred> deferred_;
  std::unique_ptr<EpollSet> descriptors_;
  std::unique_ptr<Scope> root_;
};

// Scope: owns tasks that run side by side, and cancels the remaining tasks in its destructor. There is one for each
// connection, one for each jail, one for the daemon. An exception is a bug in one task: it is logged, and the other
// tasks continue.
class Scope {
 public:
  explicit Scope(Loop& loop) : loop_(loop) {}
  ~Scope() { cancel_all(); }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  void spawn(Task<> work);
  size_t live() const { return tasks_->size(); }
  void cancel_all() { std::exchange(tasks_, std::make_shared<Tasks>())->clear(); }

 private:
  using Tasks = std::list<std::optional<Task<>>>;
  Task<> run(Task<> work, Tasks::iterator self);
  Loop& loop_;
  std::shared_ptr<Tasks> tasks_ = std::make_shared<Tasks>();
};

// AsyncFd: a descriptor that the loop can wait for: pipe, socket, pidfd, inotify, ... One reader and one writer at a
// time. Owns the descriptor, and makes it non-blocking.
class AsyncFd {
  struct Waiter;
  struct Poll final : EpollSet::Entry {
    ~Poll() override;
    void on_events(uint32_t events) override;
    void wait(Waiter& waiter);
    void forget(const Waiter& waiter);
    Waiter* waiting[2] = {};  // [0] for EPOLLIN, [1] for EPOLLOUT
  };
  struct Waiter {
    Poll* poll;
    int dir;
    std::coroutine_handle<> h;
    bool registered = false;

    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> c);
    void await_resume() noexcept {}
    ~Waiter();  // cancelled while waiting
  };

 public:
  AsyncFd() = default;  // empty: test with operator bool
  // Errors: internal, "epoll_ctl: ..." (a regular file or a folder cannot be polled).
  static Result<AsyncFd> adopt(Loop& loop, Fd fd);
  AsyncFd(AsyncFd&&) = default;
  AsyncFd& operator=(AsyncFd&& other) noexcept {
    poll_ = std::move(other.poll_);  // the loop stops using the old descriptor before it is closed
    fd_ = std::move(other.fd_);
    return *this;
  }

  explicit operator bool() const { return static_cast<bool>(fd_); }
  int get() const { return fd_.get(); }
  Waiter readable() { return Waiter{poll_.get(), 0, {}}; }
  Waiter writable() { return Waiter{poll_.get(), 1, {}}; }
  // A task that waits for the descriptor then is never resumed. It may be cancelled at any later time.
  void close() {
    poll_.reset();
    fd_.reset();
  }

 private:
  Fd fd_;                       // closed last:
  std::unique_ptr<Poll> poll_;  // the loop must let go of the descriptor before it is closed
};

// Calls fn once after `after`, unless this object is destroyed first. The clock is CLOCK_MONOTONIC (uv_hrtime). fn may
// destroy the Deadline.
class Deadline {
 public:
  Deadline() = default;  // disarmed
  Deadline(Loop& loop, std::chrono::milliseconds after, std::function<void()> fn);

 private:
  struct Box {
    uv_timer_t handle;
    std::function<void()> fn;
  };
  UvPtr<Box> box_;
};

// co_await sleep_for(loop, 20ms);
inline auto sleep_for(Loop& loop, std::chrono::milliseconds after) {
  struct Awaiter {
    Loop& loop;
    std::chrono::milliseconds after;
    std::optional<Deadline> timer;
    bool await_ready() const noexcept { return after.count() <= 0; }
    void await_suspend(std::coroutine_handle<> h) {
      timer.emplace(loop, after, [h] { h.resume(); });
    }
    void await_resume() noexcept {}
  };
  return Awaiter{loop, after, {}};
}

// co_await next_turn(loop);   lets all other ready work run first. For long work in slices.
inline auto next_turn(Loop& loop) {
  struct Awaiter {
    Loop& loop;
    std::shared_ptr<std::coroutine_handle<>> waiting;  // destroyed with a cancelled task
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> h) {
      waiting = std::make_shared<std::coroutine_handle<>>(h);
      loop.defer([weak = std::weak_ptr(waiting)] {
        if (auto task = weak.lock()) task->resume();
      });
    }
    void await_resume() noexcept {}
  };
  return Awaiter{loop, nullptr};
}

// A one-shot event that one task awaits and any code fires. An event that was fired early stays fired.
class Event {
 public:
  void fire() {
    fired_ = true;
    if (auto h = std::exchange(waiter_, nullptr)) h.resume();
  }
  bool fired() const { return fired_; }
  auto operator co_await() noexcept {
    struct Awaiter {
      Event& event;
      bool registered = false;
      bool await_ready() const noexcept { return event.fired_; }
      void await_suspend(std::coroutine_handle<> h) {
        registered = true;
        event.waiter_ = h;
      }
      void await_resume() noexcept { registered = false; }
      ~Awaiter() {
        if (registered) event.waiter_ = nullptr;
      }
    };
    return Awaiter{*this};
  }

 private:
  bool fired_ = false;
  std::coroutine_handle<> waiter_;
};
