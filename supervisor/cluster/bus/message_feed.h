// MessageFeed: the bounded queue of one subscription's messages, from any thread to a task on the loop.
// Source: libnats's threads (nats_bus.cc), or a test's bus. Used by: subscriptions of every Bus.
#pragma once
#include <deque>
#include <memory>
#include <mutex>
#include <optional>

#include "supervisor/base/one_shot.h"
#include "supervisor/cluster/bus/bus.h"

namespace cluster {

class MessageFeed {
 public:
  MessageFeed(Loop& loop, SubscriptionBounds bounds) : loop_(loop), bounds_(bounds) {}

  // Any thread. False: the message was dropped and counted, because the feed is full or has ended. The first message of
  // an empty feed is always taken.
  bool push(BusMessage message);
  // Any thread. Counts messages that were dropped before they came here.
  void add_dropped(uint64_t messages);
  uint64_t dropped() const;

  // The rest: on the loop. wake() resumes the task that waits in next(), in a later turn.
  void wake();
  // The next wake() resolves this, instead of resuming a task in next().
  void wake_instead(OneShot<>::Resolver waiting) { waiting_ = std::move(waiting); }
  // Further messages are dropped. next() returns the messages that are here, then the error.
  void end(Error why);
  std::optional<BusMessage> take();
  // One task at a time.
  static Task<Result<BusMessage>> next(std::shared_ptr<MessageFeed> feed);

 private:
  Loop& loop_;
  const SubscriptionBounds bounds_;
  mutable std::mutex mutex_;
  std::deque<BusMessage> messages_;  // by mutex_
  size_t bytes_ = 0;                 // of messages_, by mutex_
  uint64_t dropped_ = 0;             // by mutex_
  uint64_t dropped_since_ = 0;       // since the last message was taken in, by mutex_
  bool open_ = true;                 // by mutex_
  std::optional<Error> ended_;       // on the loop
  OneShot<>::Resolver waiting_;      // on the loop
};

}  // namespace cluster
