// Replies: what jailed code asked the daemon for, on its way into the jail, one message after the other. A jail may
// read as slowly as it likes: how many bytes wait for jails is bounded for all of them together. Beyond it large
// replies become errors (exhausted) that say so; small ones always go.
#pragma once
#include <deque>
#include <nlohmann/json.hpp>
#include <string>

#include "jail/guest_channel.h"
#include "supervisor/base/result.h"
#include "supervisor/base/task.h"

namespace jail {

class Replies {
 public:
  // What the replies to all jails take. One per host.
  struct Room {
    static constexpr size_t kSmall = 64 << 10;  // one that always has room
    size_t bytes = 256 << 20;
    size_t taken = 0;
  };

  // Both are borrowed. Nobody else sends to the guest.
  Replies(GuestChannel& guest, Room& room) : guest_(guest), room_(room) {}
  ~Replies();
  Replies(const Replies&) = delete;

  // Sends the message `reply` to the call of that id, an integer. Returns at once where another call's is being sent:
  // it follows.
  Task<> send(nlohmann::json id, Result<nlohmann::json> done);
  bool sending() const { return sending_; }

 private:
  void drop_first();

  GuestChannel& guest_;
  Room& room_;
  std::deque<std::string> waiting_;  // the first is being sent
  bool sending_ = false;
};

}  // namespace jail
