// BusConnection: one connection to a message bus, driven by the loop. Nothing here ever waits for the bus.
// Made by: service.cc, which makes another when this one is lost.
#pragma once
#include <uv.h>

#include <functional>
#include <memory>
#include <string>

#include "supervisor/base/loop.h"
#include "supervisor/bus/message.h"

namespace bus {

class BusConnection {
 public:
  // `where`: system, session, or an address of the D-Bus specification. `lost` is called from the loop, once, when the
  // bus is gone; it may destroy the connection. Errors: unavailable, naming the bus.
  static Result<std::unique_ptr<BusConnection>> open(Loop& loop, const std::string& where,
                                                     std::function<void(std::string why)> lost);
  ~BusConnection();
  BusConnection(const BusConnection&) = delete;

  sd_bus* get() const { return bus_.get(); }
  // Sends a call and waits for its reply. Errors: what the other side answered (denied, or unavailable: nobody is
  // there, or it took longer than `patience`).
  Task<Result<MessagePtr>> call(MessagePtr message, std::chrono::seconds patience);
  // Whether so much waits to be read by a slow bus that what is only news had better not be added.
  bool congested() const;

 private:
  template <class Handle>
  struct Box {
    Handle handle;
    BusConnection* owner;
  };
  using Poll = Box<uv_poll_t>;
  using Timer = Box<uv_timer_t>;
  using Prepare = Box<uv_prepare_t>;
  BusConnection(Loop& loop, std::function<void(std::string)> lost) : loop_(loop), lost_(std::move(lost)) {}
  void arm();
  void process();
  void lose(int error);

  Loop& loop_;
  std::function<void(std::string)> lost_;
  BusPtr bus_;
  int fd_ = -1, events_ = 0;
  UvPtr<Poll> poll_;
  UvPtr<Timer> timer_;
  UvPtr<Prepare> prepare_;
};

}  // namespace bus
