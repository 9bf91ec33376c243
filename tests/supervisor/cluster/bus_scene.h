// BusScene: a bus with clients, for the tests that every implementation of cluster::Bus must pass
// (bus_contract_test.cc). memory_scene.cc has the one in memory, nats_scene.cc the one over a real nats-server.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "supervisor/base/loop.h"
#include "supervisor/cluster/bus/bus.h"

namespace cluster {

class BusScene {
 public:
  static std::unique_ptr<BusScene> make();
  virtual ~BusScene() = default;
  BusScene(const BusScene&) = delete;

  Loop loop;
  virtual std::unique_ptr<Bus> connect(const std::string& name) = 0;
  // All clients lose their connections, and notice it. A server keeps its buckets.
  virtual void lose_connections() = 0;
  // They can connect again.
  virtual void restore_connections() = 0;
  // Nothing passes for `time`, then everything.
  virtual void stall(std::chrono::milliseconds time) = 0;

  // Runs the loop until `done`. Fails the test after 20 s.
  void until(const std::function<bool()>& done, const char* kind) {
    bool late = false;
    const Deadline deadline(loop, std::chrono::seconds(20), [&late] { late = true; });
    loop.run_until([&] { return late || done(); });
    if (late) throw std::runtime_error(std::string("waited 20 s for ") + kind);
  }
  // Runs a task to its end.
  template <class T>
  T run(Task<T> task, const char* kind = "a task") {
    std::optional<T> result;
    Scope scope(loop);
    scope.spawn(store(std::move(task), result));
    until([&result] { return result.has_value(); }, kind);
    return *std::move(result);
  }

 protected:
  BusScene() = default;

 private:
  template <class T>
  static Task<> store(Task<T> task, std::optional<T>& result) {
    result.emplace(co_await std::move(task));
  }
};

}  // namespace cluster
