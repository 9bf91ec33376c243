#include "bus_scene.h"
#include "nats_server.h"
#include "supervisor/cluster/bus/nats_bus.h"

namespace cluster {
namespace {

class NatsScene : public BusScene {
 public:
  ~NatsScene() override { wait_for_ended_buses(std::chrono::seconds(10)); }
  std::unique_ptr<Bus> connect(const std::string& name) override {
    BusSettings settings;
    settings.servers = {server_.url()};
    settings.name = name;
    settings.inbox_prefix = "_INBOX." + name;
    settings.longest_pause = std::chrono::milliseconds(200);
    auto bus = run(connect_nats(loop, settings), "a connection");
    if (!bus) throw std::runtime_error(bus.error().what);
    return *std::move(bus);
  }
  void lose_connections() override { server_.kill(); }
  void restore_connections() override { server_.restart(); }
  void stall(std::chrono::milliseconds time) override {
    server_.stop();
    bool over = false;
    const Deadline deadline(loop, time, [&over] { over = true; });
    until([&over] { return over; }, "the end of the stall");
    server_.go_on();
  }

 private:
  NatsServerProcess server_;
};

}  // namespace

std::unique_ptr<BusScene> BusScene::make() { return std::make_unique<NatsScene>(); }

}  // namespace cluster
