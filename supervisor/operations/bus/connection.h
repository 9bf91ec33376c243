// BusConnection: one connection to a message bus, driven by the loop. No function here blocks on the bus.
// Source: service.cc, which makes a new connection when this one is lost.
#pragma once
#include <uv.h>

#include <functional>
#include <memory>
#include <string>

#include "supervisor/base/loop.h"
#include "supervisor/operations/bus/message.h"

namespace bus {

class BusConnection {
 public:
  // `where`: system, session, or an address of the D-Bus specification. `lost` is called from the loop, once, when the
  // connection to the bus is lost; it may destroy this object. Errors: unavailable, naming the bus.
  static Result<std::unique_ptr<BusConnection>> open(Loop& loop, const std::string& where,
                                                     std::function<void(std::string why)> lost);
  ~BusConnection();
  BusConnection(const BusConnection&) = delete;

  sd_bus* get() const { return bus_.get(); }
  // Sends a call and waits for its reply. Errors: the error reply (denied, or unavailable: the called name has no
  // owner, or it took longer than `patience`).
  Task<Result<MessagePtr>> call(MessagePtr message, std::chrono::seconds patience);
  // Whether more than 1,000 messages wait for a slow bus. Then signals should be left out.
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
