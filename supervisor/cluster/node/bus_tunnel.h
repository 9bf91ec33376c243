// BusTunnel: one connection between the warderd of this node and that of another: the bytes of a local Unix socket pass
// as frames over the bus, both ways. At most kWindow bytes are under way in each direction, so a slow reader slows its
// writer down. Each side sends a sign of life twice a second. The connection ends when either socket ends, when a frame
// is missing, or without a sign of life for kSilence: then the local socket is closed, which cancels what runs for it.
// Made by: carrier.h. The owner destroys it when has_ended() is true.
#pragma once
#include <chrono>
#include <memory>
#include <string>

#include "supervisor/base/clock.h"
#include "supervisor/base/loop.h"
#include "supervisor/cluster/bus/bus.h"
#include "supervisor/cluster/node/frame_cipher.h"

namespace cluster {

class BusTunnel {
 public:
  static constexpr size_t kWindow = 4 << 20;  // bytes
  static constexpr std::chrono::seconds kSilence{3};

  struct Ends {
    AsyncFd local;                                // connected to the warderd of this node, non-blocking
    std::string other;                            // the subject of the other side
    std::unique_ptr<BusSubscription> from_other;  // its frames
  };
  // Loop and bus must outlive the object. `ended` is called once, from a task of the object: it must not destroy it.
  BusTunnel(Loop& loop, Bus& bus, FrameCipher cipher, Ends ends, std::function<void()> ended);
  ~BusTunnel();
  BusTunnel(const BusTunnel&) = delete;
  BusTunnel& operator=(const BusTunnel&) = delete;

  void begin();
  // Ends the connection on both sides, as if the local socket had ended.
  void close();
  bool has_ended() const { return has_ended_; }

 private:
  enum class FrameKind : char { data = 'd', alive = 'a', end = 'e' };
  Task<> read_local();
  Task<> read_other();
  Task<bool> write_local(std::string_view bytes);
  Task<> stay_alive();
  bool send(FrameKind kind, std::string_view bytes = {});
  void end();

  Loop& loop_;
  Bus& bus_;
  FrameCipher cipher_;
  Ends ends_;
  std::function<void()> ended_;
  uint64_t sent_ = 0, acknowledged_ = 0;  // bytes from the local socket
  uint64_t written_ = 0,
           reported_ = 0;        // bytes to the local socket; reported_: that the other side knows to be written
  std::shared_ptr<Event> room_;  // while read_local() waits for acknowledgements
  Monotonic::time_point last_received_ = Monotonic::now();
  bool is_writing_ = false;  // the local socket is slow, and signs of life wait behind its data
  bool has_ended_ = false;
  Scope tasks_;  // last: cancelled first
};

}  // namespace cluster
