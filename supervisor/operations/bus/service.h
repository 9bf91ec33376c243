// Service: the daemon on D-Bus while there is a bus. Without a bus it tries again, with pauses from 1 s up to 30 s; the
// rest of the daemon is not affected. It observes executions and approvals by itself.
// Used by: supervisor/daemon/. Errors of the bus are logged here, each time the connection fails.
#pragma once
#include <memory>
#include <string>

#include "supervisor/operations/bus/bus_objects.h"

namespace bus {

class Service {
 public:
  // `where`: system, session, or an address.
  Service(DaemonServices services, std::string where);
  Service(const Service&) = delete;

  // Connects from now on.
  void start() { tasks_.spawn(stay_connected()); }
  // Called after each reload. `problem`: its error, or empty.
  void reloaded(const std::string& problem);

 private:
  struct Lost {
    Event event;
    std::string why;
  };
  Task<> stay_connected();
  Result<> serve(const std::shared_ptr<Lost>& lost);

  DaemonServices services_;
  std::string where_;
  std::string reload_problem_;
  std::unique_ptr<BusConnection> connection_;
  std::unique_ptr<BusObjects> objects_;  // nullptr: not connected
  executions::ExecutionRegistry::Observers::Place executions_;
  calls::Approvals::Observers::Place approvals_;
  Scope tasks_;  // last: cancelled first
};

}  // namespace bus
