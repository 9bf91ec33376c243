// NatsSession: libnats's connection and subscriptions, with their callbacks. It is used, and destroyed, by one thread:
// its calls may wait for a server. Used by: NatsSender.
#pragma once
#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "supervisor/cluster/bus/libnats.h"
#include "supervisor/cluster/bus/nats_bus.h"
#include "supervisor/cluster/bus/nats_handover.h"

namespace cluster {

struct OutgoingMessage {
  std::string subject;
  std::string reply;
  std::string bytes;
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string request = {};  // token of a request, which fails if it cannot be sent; empty: not a request
};

class NatsSession {
 public:
  explicit NatsSession(std::shared_ptr<NatsHandover> handover) : handover_(std::move(handover)) {}
  ~NatsSession();  // may wait for the write deadline or a running attempt to connect
  NatsSession(const NatsSession&) = delete;

  // Once, before the others. Errors: see connect_nats(). Unreachable servers are no error.
  Result<> connect(const BusSettings& settings);
  // Without effect after a failed connect().
  void publish(const OutgoingMessage& message);
  void subscribe(void* target, const std::string& filter, const std::string& group, SubscriptionBounds bounds);
  void unsubscribe(void* target);

 private:
  Result<natsOptions*> make_options(const BusSettings& settings);
  std::shared_ptr<NatsHandover> handover_;
  const LibNats* nats_ = nullptr;
  natsConnection* connection_ = nullptr;
  void* target_ = nullptr;
  std::map<void*, natsSubscription*> subscriptions_;  // by target
  int64_t longest_pause_ = 0;                         // milliseconds
};

// Waits until libnats has freed all subscriptions that were ended, at most `limit`: its thread does that later. False:
// some are left.
bool wait_for_ended_subscriptions(std::chrono::milliseconds limit);

}  // namespace cluster
