// NatsCore: the loop's side of a NatsBus: state, subscriptions, requests. Shared by the bus, its subscriptions and its
// running tasks; after end() it returns errors only.
// Used by: NatsBus, JetStreamBucket, JetStreamWatch. Errors: see bus.h.
#pragma once
#include <map>
#include <memory>
#include <string>

#include "supervisor/base/one_shot.h"
#include "supervisor/cluster/bus/bus.h"
#include "supervisor/cluster/bus/nats_sender.h"

namespace cluster {

class NatsCore : public std::enable_shared_from_this<NatsCore> {
 public:
  static Result<std::shared_ptr<NatsCore>> open(Loop& loop, BusSettings settings);
  NatsCore(const NatsCore&) = delete;

  // The first connection, once. Then state() is `connected` or `reconnecting`.
  static Task<Result<>> connect(std::shared_ptr<NatsCore> core);
  void end(std::string why);

  Loop& loop() { return loop_; }
  BusState state() const { return state_; }
  const std::string& status() const { return status_; }
  size_t max_payload() const { return max_payload_; }
  BusStats stats() const;
  ObserverList<BusObserver>& observers() { return observers_; }
  // The observers of the watches. end() calls them, too.
  ObserverList<BusObserver>& inner_observers() { return inner_observers_; }

  // Checks the size and the buffers, not the subject.
  Result<> publish(OutgoingMessage message);
  // A subscription without a check of its filter. `target` is for unsubscribe().
  struct Subscribed {
    std::shared_ptr<MessageFeed> feed;
    void* target = nullptr;
  };
  Result<Subscribed> subscribe(std::string filter, std::string group, SubscriptionBounds bounds, NatsTarget::Mark mark);
  void unsubscribe(const Subscribed& subscribed);
  // Sends a message with a new reply subject, and waits for the first answer. Only while connected: a request
  // does not wait for a connection. `action` names it in errors.
  static Task<Result<BusMessage>> request(std::shared_ptr<NatsCore> core, OutgoingMessage message, std::string action,
                                          std::chrono::milliseconds timeout);
  static Task<Result<>> flush(std::shared_ptr<NatsCore> core, std::chrono::milliseconds timeout);
  // A subject below the inbox that other nodes cannot guess.
  std::string new_inbox();

 private:
  NatsCore(Loop& loop, BusSettings settings);
  using Answer = OneShot<Result<BusMessage>>;
  class WaitingRequest;
  void on_news();
  void apply(const NatsNews& news);
  void read_replies();
  void change_state(BusState state, const std::string& text);
  static Task<Result<BusMessage>> exchange(std::shared_ptr<NatsCore> core, OutgoingMessage message, std::string action,
                                           std::chrono::milliseconds timeout);

  Loop& loop_;
  const BusSettings settings_;
  const std::string inbox_;  // the prefix of all inboxes of this connection
  std::shared_ptr<NatsHandover> handover_;
  std::unique_ptr<NatsSender> sender_;  // nullptr: ended
  BusState state_ = BusState::reconnecting;
  std::string status_ = "connecting";
  std::string why_ended_;
  std::string last_refusal_;
  size_t max_payload_ = 1 << 20;  // bytes
  size_t bytes_while_lost_ = 0;   // accepted since the connection was lost
  uint64_t connects_ = 0;
  uint64_t ended_dropped_ = 0;  // of subscriptions that have ended
  BusStats stats_;
  ObserverList<BusObserver> observers_;
  ObserverList<BusObserver> inner_observers_;
  std::shared_ptr<MessageFeed> replies_;
  std::shared_ptr<MessageFeed> connecting_;                       // ends the wait of connect()
  std::map<std::string, Answer::Resolver, std::less<>> waiting_;  // requests, by token
  std::map<void*, std::shared_ptr<MessageFeed>> subscriptions_;   // by target
};

}  // namespace cluster
