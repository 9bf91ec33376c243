#include "supervisor/base/loop_wake.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

void LoopWake::Sender::send() const {
  const uint64_t value = 1;
  [[maybe_unused]] const ssize_t written =
      ::write(event_->get(), &value, sizeof value);  // EAGAIN: the loop is woken already
}

Result<std::unique_ptr<LoopWake>> LoopWake::open(Loop& loop, std::function<void()> woken) {
  Fd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event) return fail_errno(errno, "eventfd");
  std::unique_ptr<LoopWake> wake(new LoopWake);
  wake->woken_ = std::move(woken);
  CHECKED(loop.descriptors().add(*wake, event.get()));
  wake->event_ = std::make_shared<const Fd>(std::move(event));
  wake->keep_loop_running(true);
  wake->wait_for(EPOLLIN);
  return wake;
}

LoopWake::~LoopWake() {
  if (set()) set()->remove(*this);
}

LoopWake::Sender LoopWake::sender() const {
  Sender sender;
  sender.event_ = event_;
  return sender;
}

void LoopWake::on_events(uint32_t) {
  uint64_t sends = 0;
  [[maybe_unused]] const ssize_t got = ::read(event_->get(), &sends, sizeof sends);
  wait_for(EPOLLIN);
  const NamedWork named_work(LoopWork::other);
  const auto woken = woken_;  // it may destroy this object
  woken();
}
