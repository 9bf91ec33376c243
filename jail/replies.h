// Replies: what jailed code asked the daemon for, on its way into the jail, one message after the other. A jail may
// read as slowly as it likes: how many bytes wait for jails is bounded for all of them together. Beyond it large
// replies become errors (exhausted) that say so; small ones always go.
#pragma once
#include <deque>
#include <memory>
#include <string>

#include "jail/guest_channel.h"
#include "supervisor/base/json_value.h"
#include "supervisor/base/json_work.h"
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

  // All are borrowed. Nobody else sends to the guest. What is large is written as JSON on the owner's account.
  Replies(GuestChannel& guest, Room& room, JsonWork& json, JsonWork::Owner owner)
      : guest_(guest), room_(room), json_(json), owner_(std::move(owner)) {}
  ~Replies();
  Replies(const Replies&) = delete;

  // Sends the message `reply` to the call of that id, an integer. Returns at once where another call's is being sent:
  // it follows.
  Task<> send(Json id, Result<Json> done);
  bool sending() const { return sending_ || writing_ > 0; }
  size_t waiting() const { return waiting_.size(); }  // replies that the jail has not taken

 private:
  class Writing;
  void drop_first();
  Task<Result<std::string>> write(Json id, Json value, size_t length);

  GuestChannel& guest_;
  Room& room_;
  JsonWork& json_;
  JsonWork::Owner owner_;
  std::deque<std::shared_ptr<const std::string>> waiting_;  // the first is being sent
  bool sending_ = false;
  size_t writing_ = 0;  // large ones, that are not text yet
};

}  // namespace jail
