// Service: the daemon on D-Bus while there is a bus. Without a bus it tries again, with pauses from 1 s up to 30 s; the
// rest of the daemon is not affected.
// Used by: supervisor/daemon/. Errors of the bus are logged here, each time the connection fails.
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

  // Called after each reload. `problem`: its error, or empty.
  void reloaded(const std::string& problem);
  // Called when an approval was asked for or settled.
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
