// Replies: what jailed code asked the daemon for, on its way into the jail, one message after the other. A jail may
// read as slowly as it likes: how many bytes wait for jails is bounded for all of them together. Beyond it large
// replies become errors (exhausted) that say so; small ones always go.
#pragma once
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "jail/guest_channel.h"
#include "jail/guest_message.h"
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

  // The text of what a call was answered, as its program gets it.
  using Told = std::function<void(std::string_view result)>;

  // All are borrowed. Nobody else sends to the guest. What is large is written as JSON on the owner's account. `told`
  // may be empty.
  Replies(GuestChannel& guest, Room& room, JsonWork& json, JsonWork::Owner owner, Told told = {})
      : guest_(guest), room_(room), json_(json), owner_(std::move(owner)), told_(std::move(told)) {}
  ~Replies();
  Replies(const Replies&) = delete;

  // Sends the message `reply` to the call of that id, an integer. Returns at once where another call's is being sent:
  // it follows.
  Task<> send(Json id, Result<CallReply> done);
  bool sending() const { return sending_ || writing_ > 0; }
  uint64_t sent() const { return sent_; }  // replies

 private:
  class Writing;
  void drop_first();
  Task<Result<std::string>> write(Json id, Json value, size_t length);
  bool has_room(size_t bytes) const { return bytes <= Room::kSmall || room_.taken + bytes <= room_.bytes; }
  tl::unexpected<Error> no_room() const;

  GuestChannel& guest_;
  Room& room_;
  JsonWork& json_;
  JsonWork::Owner owner_;
  Told told_;
  std::deque<std::shared_ptr<const std::string>> waiting_;  // the first is being sent
  bool sending_ = false;
  uint64_t sent_ = 0;
  size_t writing_ = 0;  // large ones, that are not text yet
};

}  // namespace jail
