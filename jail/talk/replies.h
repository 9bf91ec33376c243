// Replies: answers to calls of jailed code, sent into the jail one message after the other. A jail may read as slowly
// as it wants, so the bytes that wait for all jails together are bounded. Beyond the bound, large replies become errors
// (exhausted) that say so; small replies are always sent.
// Used by: jail/execution/running_execution.cc.
#pragma once
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "jail/talk/guest_channel.h"
#include "jail/talk/guest_message.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/result.h"
#include "supervisor/base/task.h"
#include "supervisor/base/work.h"

namespace jail {

class Replies {
 public:
  // Memory of the replies that wait for all jails. One per host.
  struct Room {
    static constexpr size_t kSmall = 64 << 10;  // a reply up to this size always has room
    size_t bytes = 256 << 20;
    size_t claimed = 0;
  };

  // Gets the JSON text of a call's result, as the program gets it.
  using ResultObserver = std::function<void(std::string_view result)>;

  // All references are borrowed. No other code may send to the guest. Large values are written as JSON on the owner's
  // account. `observer` may be empty.
  Replies(GuestChannel& guest, Room& room, Work& work, Work::Owner owner, ResultObserver observer = {})
      : guest_(guest), room_(room), work_(work), owner_(std::move(owner)), observer_(std::move(observer)) {}
  ~Replies();
  Replies(const Replies&) = delete;

  // Sends the message `reply` to the call with this id, an integer. If another reply is being sent, returns at once;
  // this reply follows it.
  Task<> send(Json id, Result<CallReply> done);
  bool sending() const { return sending_ || writing_ > 0; }
  uint64_t sent() const { return sent_; }  // replies

 private:
  class Writing;
  void drop_first();
  Task<Result<std::string>> write(Json id, Json value, size_t length);
  bool has_room(size_t bytes) const { return bytes <= Room::kSmall || room_.claimed + bytes <= room_.bytes; }
  tl::unexpected<Error> no_room() const;

  GuestChannel& guest_;
  Room& room_;
  Work& work_;
  Work::Owner owner_;
  ResultObserver observer_;
  std::deque<std::shared_ptr<const std::string>> waiting_;  // the first is being sent
  bool sending_ = false;
  uint64_t sent_ = 0;
  size_t writing_ = 0;  // large replies that are not text yet
};

}  // namespace jail
