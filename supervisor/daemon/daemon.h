// Daemon: the part of warderd without privileges, from its start to its end: signals, the start of its parts,
// readiness, reload, drain. All of it runs on the event loop. Source: Prepared, made by main.cc. Used by: main.cc.
// Errors end the daemon with status 1; they are logged.
#pragma once
#include <memory>
#include <vector>

#include "supervisor/daemon/daemon_parts.h"
#include "supervisor/daemon/jail_host.h"
#include "supervisor/daemon/prepared.h"

class Daemon {
 public:
  explicit Daemon(Prepared prepared);
  ~Daemon();
  // Serves until a signal ends the daemon. Returns the exit status: 0 after SIGTERM or SIGINT, 1 if serving failed.
  int run();

 private:
  void watch_signals();
  Task<> serve();
  Task<Result<>> start_serving();
  Task<> test_host();
  DaemonControls controls();

  Task<Result<>> reload();
  Task<> reload_until_no_request();
  Task<Result<>> reload_once();
  struct Adopted {
    std::vector<std::string> at_restart;  // what takes effect at the next restart, one sentence each
  };
  Task<Result<Adopted>> adopt_configuration(configuration::LoadedConfiguration& fresh);
  std::vector<configuration::Shortfall> open_missing(const std::vector<configuration::Shortfall>& before,
                                                     std::vector<configuration::Shortfall> tried,
                                                     const configuration::ConfigurationDocument& fresh);
  Task<Result<>> test_policies(const policies::Store& fresh);
  Task<> reload_on_signal();
  // No jail is built until a reload passes the self-test of jails.
  void deny_executions(const Error& why);
  // The state of the daemon in one line, for the service manager.
  std::string status() const;

  void end_after_running_calls();
  Task<> drain(std::chrono::milliseconds max);
  Task<> end_without_jailer();

  struct Reload {  // a reload that a caller waits for
    Event done;
    Result<> result;
  };
  struct Signals;

  Loop loop_;
  Prepared prepared_;
  ServiceManager service_;
  int status_ = 0;
  bool ending_ = false;
  Event serving_;  // the start is done
  bool reloading_ = false, reload_failed_ = false;
  std::string trouble_;  // of the state folder's disk, for status(); empty: absent
  std::vector<std::shared_ptr<Reload>> reload_requests_;
  std::unique_ptr<Signals> signals_;  // before the parts: a second SIGTERM while they are destroyed must not kill
  // Both are made by start_serving(), in this order. A signal may come before.
  std::unique_ptr<JailHost> jails_;
  std::unique_ptr<DaemonParts> parts_;
  Scope tasks_;  // last: cancelled first
};
