// LoopWake: wakes the loop from another thread, by eventfd(2). uv_async_send(3) of libuv 1.44 is no replacement: the
// woken loop spins until the sender has returned from that function. A sender of lower priority loses its processor to
// the loop at that very moment, and on a busy machine it returns after 10 to 50 ms.
// Used by: worker_thread.h, supervisor/cluster/bus. Errors of open(): internal, no descriptor can be made.
#pragma once
#include <functional>
#include <memory>

#include "supervisor/base/epoll_set.h"
#include "supervisor/base/fd.h"
#include "supervisor/base/loop.h"
#include "supervisor/base/result.h"

class LoopWake final : private EpollSet::Entry {
 public:
  // Sender: for any number of threads; it may outlive the LoopWake. Call send() without a mutex that the loop also
  // takes.
  class Sender {
   public:
    void send() const;  // without effect after the end of the LoopWake

   private:
    friend class LoopWake;
    std::shared_ptr<const Fd> event_;
  };

  // `woken` is called on the loop after one or more send(). It may destroy the LoopWake. The loop must outlive the
  // LoopWake, and does not end before it.
  static Result<std::unique_ptr<LoopWake>> open(Loop& loop, std::function<void()> woken);
  ~LoopWake() override;
  LoopWake(const LoopWake&) = delete;

  Sender sender() const;

 private:
  LoopWake() = default;
  void on_events(uint32_t events) override;

  std::shared_ptr<const Fd> event_;
  std::function<void()> woken_;
};
