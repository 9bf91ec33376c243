// NatsHandover: what libnats's threads, and the thread that sends, hand to the loop. Its size is bounded: news of the
// connection are merged, messages lie in the bounded feeds of their subscriptions.
// NatsTarget: where a callback of libnats puts its message or its news. Callbacks have the number of a target, not its
// address: a callback that comes after the end of its target finds no target. Used by: NatsCore, and the callbacks in
// nats_session.cc.
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "supervisor/base/loop_wake.h"
#include "supervisor/cluster/bus/message_feed.h"

namespace cluster {

struct NatsTarget;

struct NatsNews {
  bool is_connected = false;
  bool is_closed = false;
  uint64_t connects = 0;                     // successful connects and reconnects so far
  size_t max_payload = 1 << 20;              // bytes, as the last server said
  std::string text;                          // one line about the last change
  uint64_t unsent = 0;                       // since the last take()
  std::vector<std::string> refusals;         // since the last take(), at most kMaxRefusals
  std::vector<std::string> failed_requests;  // tokens of requests that could not be sent, since the last take()
  std::vector<std::shared_ptr<NatsTarget>> arrivals;  // with new messages, since the last take(), each once
};
constexpr size_t kMaxRefusals = 16;

class NatsHandover {
 public:
  // `woken` is called on the loop after changes. Errors: internal, no descriptor can be made.
  static Result<std::shared_ptr<NatsHandover>> open(Loop& loop, std::function<void()> woken);
  ~NatsHandover() = default;  // on any thread, after close()
  NatsHandover(const NatsHandover&) = delete;

  // Any thread: changes the news, and wakes the loop. Without effect after close().
  void change(const std::function<void(NatsNews&)>& how);
  void arrived(const std::shared_ptr<NatsTarget>& target);
  // On the loop.
  NatsNews take();
  void close();

 private:
  NatsHandover() = default;
  std::mutex mutex_;
  NatsNews news_;                   // by mutex_
  std::unique_ptr<LoopWake> wake_;  // by mutex_; nullptr: closed
  LoopWake::Sender sender_;
};

struct NatsTarget {
  // What of a message's headers is stored: one byte before the message's bytes, or nothing.
  enum class Mark { none, reply, watch };
  std::shared_ptr<NatsHandover> handover;
  std::shared_ptr<MessageFeed> feed;  // of a subscription; nullptr for a connection's target
  Mark mark = Mark::none;
  std::string seed_file;           // of a connection: read for each signature
  bool is_announced = false;       // among the arrivals; by the handover's mutex
  int64_t dropped_in_library = 0;  // on the thread that delivers messages
};
// First bytes of marked messages.
constexpr char kMarkPlain = 'V';         // a message, a value
constexpr char kMarkNoResponders = 'N';  // the request reached no node
constexpr char kMarkRemoved = 'D';       // the removal of a key
constexpr char kMarkHeartbeat = 'H';     // followed by the sequence number of the consumer's last message

// Any thread. The number is the closure of libnats's callbacks.
void* enter_target(std::shared_ptr<NatsTarget> target);
void leave_target(void* number);
std::shared_ptr<NatsTarget> find_target(void* number);

}  // namespace cluster
