// MemoryBroker: a bus in one process, with any number of clients, which does to them what a network and hostile nodes
// do. Each client is a cluster::Bus and keeps what bus.h promises; the faults are what bus.h does not rule out.
// One thread. The loop must outlive the broker, and the broker its clients' use.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/cluster/bus/bus.h"

namespace cluster {

struct BusFaults {
  std::chrono::milliseconds min_delay{0};  // of each message and each operation on a bucket
  std::chrono::milliseconds max_delay{0};
  bool reorder = false;  // later messages may overtake earlier ones, by their delays
  double drop = 0;       // probability that a message is lost; of a bucket's operation: before or after it was done
  double duplicate = 0;  // probability that a message comes twice
};

class MemoryBroker {
 public:
  // All random choices follow from `seed`.
  explicit MemoryBroker(Loop& loop, uint64_t seed = 1);
  ~MemoryBroker();
  MemoryBroker(const MemoryBroker&) = delete;

  // A client, in the state `connected`. Its inbox prefix is _INBOX.<name>. Names are unique.
  std::unique_ptr<Bus> connect(const std::string& name);

  void set_faults(BusFaults faults);
  void set_max_payload(size_t bytes);
  // The client loses its connection, and notices it. What it publishes is kept (4 MiB) until it is connected again.
  void disconnect(const std::string& name);
  void reconnect(const std::string& name);
  // Nothing passes from or to the client, and it does not notice: a stopped server. resume() delivers all of it, late.
  void stall(const std::string& name);
  void resume(const std::string& name);
  // The client's key is refused from now on: its bus is closed.
  void refuse(const std::string& name, const std::string& text);

  // A message of anybody: any reply subject, any size.
  void inject(BusMessage message);
  // Asked for each request that passes. What it returns is delivered to the asker before the true answer.
  using Forger = std::function<std::optional<std::string>(const BusMessage& request)>;
  void set_forger(Forger forger);
  // Called with each message that a client published, also if it is then lost.
  void set_tap(std::function<void(const std::string& client, const BusMessage& message)> tap);

  // The bucket and its values are gone; the next open_bucket() makes a new one, whose revisions begin at 1. Watches are
  // told when their clients reconnect.
  void lose_bucket(const std::string& bucket);
  // A write of anybody: no revision is expected.
  void write_value(const std::string& bucket, const std::string& key, std::string bytes);

  struct Core;  // of memory_bus.cc and memory_kv.cc

 private:
  std::shared_ptr<Core> core_;
};

}  // namespace cluster
