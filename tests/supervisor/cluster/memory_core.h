// MemoryBroker's inside: clients, messages under way, buckets. For memory_bus.cc and memory_kv.cc.
#pragma once
#include <list>
#include <map>
#include <random>

#include "memory_bus.h"
#include "supervisor/base/clock.h"
#include "supervisor/base/one_shot.h"
#include "supervisor/cluster/bus/kv_changes.h"
#include "supervisor/cluster/bus/message_feed.h"

namespace cluster {

struct MemoryClient {
  std::string name;
  BusState state = BusState::connected;
  bool stalled = false;
  std::string status = "connected to the broker";
  std::string why_closed;
  BusStats stats;
  ObserverList<BusObserver> observers;
  struct Subscribed {
    std::string filter, group;
    std::shared_ptr<MessageFeed> feed;
  };
  std::list<Subscribed> subscriptions;
  using Answer = OneShot<Result<BusMessage>>;
  std::map<std::string, Answer::Resolver> requests;  // by inbox
  uint64_t last_token = 0;
  uint64_t ended_dropped = 0;
  std::vector<std::function<void()>> outgoing;  // held while disconnected or stalled
  size_t outgoing_bytes = 0;
  std::vector<std::function<void()>> incoming;  // held while stalled
  Monotonic::time_point last_due{};             // messages of one client arrive in order
};

struct MemoryBucket {
  struct Value {
    std::string bytes;
    uint64_t revision = 0, produced = 0;
    bool removed = false;
  };
  BucketSettings settings;
  uint64_t revision = 0;
  std::map<std::string, Value> values;
};

struct MemoryWatcher {
  std::weak_ptr<MemoryClient> client;
  std::string bucket, filter;
  std::weak_ptr<KvChanges> changes;
};

struct MemoryBroker::Core : std::enable_shared_from_this<MemoryBroker::Core> {
  Core(Loop& on, uint64_t seed) : loop(on), random(seed), tasks(on) {}
  Loop& loop;
  std::mt19937_64 random;
  BusFaults faults;
  size_t max_payload = 1 << 20;
  Forger forger;
  std::function<void(const std::string&, const BusMessage&)> tap;
  std::map<std::string, std::weak_ptr<MemoryClient>> clients;
  std::map<std::string, MemoryBucket> buckets;
  std::list<MemoryWatcher> watchers;
  uint64_t produced = 0;  // counts all values of all buckets
  Scope tasks;

  bool happens(double probability) { return std::uniform_real_distribution<>(0, 1)(random) < probability; }
  std::chrono::milliseconds delay();
  // Runs `fn` after a delay, for a message of `client` in the order of its messages; nullptr: nobody's.
  void after_delay(MemoryClient* client, std::function<void()> fn);
  void route(const BusMessage& message);
  void deliver(const std::shared_ptr<MemoryClient>& client, std::function<void()> fn);
  void answer(const std::shared_ptr<MemoryClient>& client, const BusMessage& message);
  std::shared_ptr<MemoryClient> client(const std::string& name);
  void change_state(MemoryClient& client, BusState state, const std::string& text);

  // Buckets, memory_kv.cc.
  void tell_all(const MemoryWatcher& watcher);
  void store(const std::string& bucket, const std::string& key, std::string bytes, bool removed);
  void resync(const std::shared_ptr<MemoryClient>& client);
};

Task<Result<std::unique_ptr<KvBucket>>> open_memory_bucket(std::shared_ptr<MemoryBroker::Core> core,
                                                           std::shared_ptr<MemoryClient> client, std::string name,
                                                           BucketSettings settings, std::chrono::milliseconds limit);

}  // namespace cluster
