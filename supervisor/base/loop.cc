#include "supervisor/base/loop.h"

#include "supervisor/base/log.h"

namespace {

struct Running {
  explicit Running(BusyTime& busy) : before(std::exchange(Doing::of_this_thread, &busy)) {}
  ~Running() { Doing::of_this_thread = before; }
  BusyTime* before;
};

}  // namespace

Loop::Loop() {
  uv_loop_init(&uv_);
  // libuv calls all callbacks between poll(2) and this prepare callback, which runs right before the next poll(2).
  turn_end_.reset(new TurnEnd{{}, this});
  turn_end_->handle.data = turn_end_.get();
  uv_prepare_init(&uv_, &turn_end_->handle);
  uv_prepare_start(&turn_end_->handle, [](uv_prepare_t* h) {
    Loop& loop = *static_cast<TurnEnd*>(h->data)->loop;
    loop.busy_.end_turn();
    loop.turn_++;
  });
  uv_unref(reinterpret_cast<uv_handle_t*>(&turn_end_->handle));
  deferred_.reset(new Deferred);
  deferred_->handle.data = deferred_.get();
  uv_idle_init(&uv_, &deferred_->handle);
  root_ = std::make_unique<Scope>(*this);
}

Loop::~Loop() {
  cancel_all();
  while (live_tasks() > 0) uv_run(&uv_, UV_RUN_ONCE);  // tasks that cancellation started: reapers
  root_.reset();
  deferred_.reset();
  turn_end_.reset();
  uv_run(&uv_, UV_RUN_DEFAULT);  // let every uv_close() finish
  if (uv_loop_close(&uv_) != 0) std::terminate();
}

void Loop::run() {
  const Running running(busy_);
  uv_run(&uv_, UV_RUN_DEFAULT);
}

void Loop::run_until(const std::function<bool()>& done) {
  const Running running(busy_);
  while (!done() && uv_run(&uv_, UV_RUN_ONCE) != 0) {
  }
}

bool Loop::runs_on_this_thread() { return Doing::of_this_thread != nullptr; }

void Loop::defer(std::function<void()> fn) {
  deferred_->queue.push_back(std::move(fn));
  uv_idle_start(&deferred_->handle, [](uv_idle_t* h) {
    const Doing doing(LoopWork::other);
    auto& box = *static_cast<Deferred*>(h->data);
    uv_idle_stop(h);
    for (auto& f : std::exchange(box.queue, {})) f();
  });
}

void Loop::spawn(Task<> work) { root_->spawn(std::move(work)); }
size_t Loop::live_tasks() const { return root_->live(); }
void Loop::cancel_all() { root_->cancel_all(); }

void Scope::spawn(Task<> work) {
  auto& tasks = *tasks_;
  auto it = tasks.emplace(tasks.end());
  it->emplace(run(std::move(work), it));
  (*it)->resume();
}

Task<> Scope::run(Task<> work, Tasks::iterator self) {
  std::weak_ptr<Tasks> alive = tasks_;
  Loop& loop = loop_;  // the scope may be gone when the task ends
  try {
    co_await std::move(work);
  } catch (const std::exception& e) {
    log_error("bug in a task: {}", e.what());
  }
  loop.defer([alive, self] {  // erased later: this code runs in that task
    if (auto tasks = alive.lock()) tasks->erase(self);
  });
}

namespace {
constexpr int kEvent[2] = {UV_READABLE, UV_WRITABLE};
bool closing(uv_poll_t* handle) { return uv_is_closing(reinterpret_cast<uv_handle_t*>(handle)) != 0; }
}  // namespace

void AsyncFd::Poll::rearm() {
  int events = (waiting[0] ? UV_READABLE : 0) | (waiting[1] ? UV_WRITABLE : 0);
  if (events == 0) {
    uv_poll_stop(&handle);
  } else {
    uv_poll_start(&handle, events, &Poll::on_event);
  }
}

void AsyncFd::Poll::on_event(uv_poll_t* h, int status, int events) {
  const Doing doing(LoopWork::other);
  auto* self = static_cast<Poll*>(h->data);
  std::coroutine_handle<> wake[2];
  for (int i = 0; i < 2; i++) {
    if (self->waiting[i] && (status < 0 || (events & kEvent[i]))) wake[i] = self->waiting[i]->h;
  }
  // The first to wake may destroy the second, which then clears waiting[1]. It may also close this
  // Poll; the memory stays until uv's close callback.
  for (int i = 0; i < 2; i++) {
    if (wake[i] && self->waiting[i]) {
      std::exchange(self->waiting[i], nullptr)->registered = false;
      if (!closing(h)) self->rearm();
      wake[i].resume();
    }
  }
}

void AsyncFd::Waiter::await_suspend(std::coroutine_handle<> c) {
  h = c;
  registered = true;
  poll->waiting[dir] = this;
  poll->rearm();
}

AsyncFd::Waiter::~Waiter() {
  if (!registered) return;
  poll->waiting[dir] = nullptr;
  if (!closing(&poll->handle)) poll->rearm();
}

Result<AsyncFd> AsyncFd::adopt(Loop& loop, Fd fd) {
  AsyncFd async;
  auto box = std::make_unique<Poll>();
  box->handle.data = box.get();
  if (int rc = uv_poll_init(loop.uv(), &box->handle, fd.get()); rc < 0) return fail_errno(-rc, "uv_poll_init");
  async.poll_.reset(box.release());
  async.fd_ = std::move(fd);
  return async;
}

Deadline::Deadline(Loop& loop, std::chrono::milliseconds after, std::function<void()> fn) : box_(new Box) {
  box_->fn = std::move(fn);
  box_->handle.data = box_.get();
  uv_timer_init(loop.uv(), &box_->handle);
  uv_update_time(loop.uv());
  uv_timer_start(
      &box_->handle,
      [](uv_timer_t* h) {
        const Doing doing(LoopWork::other);
        auto fire = std::move(static_cast<Box*>(h->data)->fn);  // it may destroy the Deadline
        fire();
      },
      static_cast<uint64_t>(after.count()) + 1, 0);  // the loop's clock is cut to a millisecond: never early
}
