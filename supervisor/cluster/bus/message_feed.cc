#include "supervisor/cluster/bus/message_feed.h"

#include <utility>

namespace cluster {
namespace {

size_t feed_bytes(const BusMessage& message) {
  return message.subject.size() + message.reply.size() + message.bytes.size();
}

}  // namespace

bool MessageFeed::push(BusMessage message) {
  const std::lock_guard lock(mutex_);
  const size_t size = feed_bytes(message);
  const bool fits =
      messages_.empty() || (messages_.size() < bounds_.max_messages && bytes_ + size <= bounds_.max_bytes);
  if (!open_ || !fits) {
    dropped_++;
    dropped_since_++;
    return false;
  }
  message.dropped_before = std::exchange(dropped_since_, 0);
  bytes_ += size;
  messages_.push_back(std::move(message));
  return true;
}

void MessageFeed::add_dropped(uint64_t messages) {
  const std::lock_guard lock(mutex_);
  dropped_ += messages;
  dropped_since_ += messages;
}

uint64_t MessageFeed::dropped() const {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

void MessageFeed::wake() { std::exchange(waiting_, {}).resolve(); }

void MessageFeed::end(Error why) {
  {
    const std::lock_guard lock(mutex_);
    open_ = false;
  }
  if (!ended_) ended_ = std::move(why);
  wake();
}

std::optional<BusMessage> MessageFeed::take() {
  const std::lock_guard lock(mutex_);
  if (messages_.empty()) return std::nullopt;
  BusMessage message = std::move(messages_.front());
  messages_.pop_front();
  bytes_ -= feed_bytes(message);
  return message;
}

Task<Result<BusMessage>> MessageFeed::next(std::shared_ptr<MessageFeed> feed) {
  for (;;) {
    if (std::optional<BusMessage> message = feed->take()) co_return *std::move(message);
    if (feed->ended_) co_return tl::unexpected<Error>(*feed->ended_);
    OneShot<> arrival(feed->loop_);
    feed->waiting_ = arrival.resolver();
    co_await arrival;
  }
}

}  // namespace cluster
