#include "supervisor/base/loop.h"

#include <sys/epoll.h>
#include <sys/ioctl.h>

#include "supervisor/base/log.h"

namespace {

struct Running {
  explicit Running(BusyTime& busy) : before(std::exchange(NamedWork::of_this_thread, &busy)) {}
  ~Running() { NamedWork::of_this_thread = before; }
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
  descriptors_ = std::make_unique<EpollSet>(&uv_);
  root_ = std::make_unique<Scope>(*this);
}

Loop::~Loop() {
  cancel_all();
  while (live_tasks() > 0) uv_run(&uv_, UV_RUN_ONCE);  // tasks that cancellation started: reapers
  root_.reset();
  deferred_.reset();
  descriptors_.reset();
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

bool Loop::runs_on_this_thread() { return NamedWork::of_this_thread != nullptr; }

void Loop::defer(std::function<void()> fn) {
  deferred_->queue.push_back(std::move(fn));
  uv_idle_start(&deferred_->handle, [](uv_idle_t* h) {
    const NamedWork named_work(LoopWork::other);
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
constexpr uint32_t kEvent[2] = {EPOLLIN, EPOLLOUT};
constexpr uint32_t kEnded = EPOLLERR | EPOLLHUP;  // wakes both directions, as poll(2) does
}  // namespace

AsyncFd::Poll::~Poll() {
  for (Waiter*& waiter : waiting)
    if (waiter) std::exchange(waiter, nullptr)->registered = false;
  if (set()) set()->remove(*this);
}

void AsyncFd::Poll::wait(Waiter& waiter) {
  waiting[waiter.dir] = &waiter;
  wait_for(kEvent[waiter.dir]);
  keep_loop_running(true);
}

// The descriptor stays registered: an event without a waiter is dropped once.
void AsyncFd::Poll::forget(const Waiter& waiter) {
  waiting[waiter.dir] = nullptr;
  keep_loop_running(waiting[0] || waiting[1]);
}

void AsyncFd::Poll::on_events(uint32_t events) {
  const NamedWork named_work(LoopWork::other);
  EpollSet& all = *set();
  const uint64_t token = EpollSet::token_of(*this);
  Waiter* const waited[2] = {waiting[0], waiting[1]};
  // The first to wake may destroy the second, wait again, or destroy this Poll.
  for (int i = 0; i < 2; i++) {
    if (!waited[i] || !(events & (kEvent[i] | kEnded)) || waiting[i] != waited[i]) continue;
    Waiter& waiter = *std::exchange(waiting[i], nullptr);
    waiter.registered = false;
    keep_loop_running(waiting[0] || waiting[1]);
    waiter.h.resume();
    if (!all.holds(token)) return;
  }
  for (int i = 0; i < 2; i++)
    if (waiting[i]) wait_for(kEvent[i]);
}

void AsyncFd::Waiter::await_suspend(std::coroutine_handle<> c) {
  h = c;
  registered = true;
  poll->wait(*this);
}

AsyncFd::Waiter::~Waiter() {
  if (registered) poll->forget(*this);
}

Result<AsyncFd> AsyncFd::adopt(Loop& loop, Fd fd) {
  int on = 1;
  if (::ioctl(fd.get(), FIONBIO, &on) < 0) return fail_errno(errno, "ioctl FIONBIO");
  AsyncFd async;
  async.poll_ = std::make_unique<Poll>();
  CHECKED(loop.descriptors().add(*async.poll_, fd.get()));
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
        const NamedWork named_work(LoopWork::other);
        auto fire = std::move(static_cast<Box*>(h->data)->fn);  // it may destroy the Deadline
        fire();
      },
      static_cast<uint64_t>(after.count()) + 1, 0);  // the loop's clock is cut to a millisecond: never early
}
