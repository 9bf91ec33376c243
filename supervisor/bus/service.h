// Service: the daemon on D-Bus, as long as there is a bus. Without one it tries again, less and less often; nothing
// else of the daemon notices. Made by: daemon.cc. Errors of the bus are logged here, when they begin and when they are
// over.
#pragma once
#include <memory>
#include <string>

#include "supervisor/bus/bus_objects.h"

namespace bus {

class Service {
 public:
  // `where`: system, session, or an address.
  Service(DaemonServices services, std::string where);
  ~Service();
  Service(const Service&) = delete;

  // After each reload: what was wrong with it, or nothing.
  void reloaded(const std::string& problem);
  // What waits for an approval has changed.
  void approval(const calls::Approval& approval, calls::Approvals::What what, std::string_view how);
  bool connected() const { return objects_ != nullptr; }

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
  std::unique_ptr<BusObjects> objects_;
  Scope tasks_;  // last: cancelled first
};

}  // namespace bus
