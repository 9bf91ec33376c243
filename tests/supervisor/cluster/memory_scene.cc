#include <algorithm>

#include "bus_scene.h"
#include "memory_bus.h"

namespace cluster {
namespace {

class MemoryScene : public BusScene {
 public:
  std::unique_ptr<Bus> connect(const std::string& name) override {
    names_.push_back(name);
    return broker_.connect(name);
  }
  void lose_connections() override {
    for (const std::string& name : names_) broker_.disconnect(name);
  }
  void restore_connections() override {
    for (const std::string& name : names_) broker_.reconnect(name);
  }
  void stall(std::chrono::milliseconds time) override {
    for (const std::string& name : names_) broker_.stall(name);
    bool over = false;
    const Deadline deadline(loop, std::min(time, std::chrono::milliseconds(100)), [&over] { over = true; });
    until([&over] { return over; }, "the end of the stall");
    for (const std::string& name : names_) broker_.resume(name);
  }

 private:
  MemoryBroker broker_{loop};
  std::vector<std::string> names_;
};

}  // namespace

std::unique_ptr<BusScene> BusScene::make() { return std::make_unique<MemoryScene>(); }

}  // namespace cluster
