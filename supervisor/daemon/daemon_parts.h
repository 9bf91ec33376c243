// DaemonParts: the parts of the daemon that serve clients (part_list.cc), and the loops over them: the start, a reload,
// the end. Source: Prepared, and the host of jails. Made by Daemon when the self-test of jails has passed. All of it
// runs on the event loop. Errors: those of opening files, sockets and threads.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "jail/host.h"
#include "supervisor/daemon/configuration/reload_exchange.h"
#include "supervisor/daemon/configuration_reader.h"
#include "supervisor/daemon/prepared.h"
#include "supervisor/daemon_controls.h"
#include "supervisor/given_services.h"
#include "supervisor/parts.h"

class DaemonParts {
 public:
  // Loop, `prepared` and `host` must outlive the parts.
  static Result<std::unique_ptr<DaemonParts>> open(Loop& loop, Prepared& prepared, jail::Host& host,
                                                   DaemonControls controls);
  DaemonParts(const DaemonParts&) = delete;
  ~DaemonParts();

  // The start, in two steps. begin() starts the work beside clients, and is done when the stubs of /servers are
  // written; those of a large catalog are written later. serve() opens the sockets and connects to D-Bus.
  Task<Result<>> begin();
  Result<> serve();

  // The reload. adopt_policies(): every part follows the policies that `prepared` has now. adopt_servers(): the
  // upstream servers are these from now on; returns a sentence for each that needs a restart. open_missing_http() and
  // open_missing_metrics(): open the listeners that the start did without, if the trial of the reload did not find them
  // missing again; return `missing`, the trial's list, with what could not be opened. end_executions(): no jail can be
  // trusted. show_reload(): shows the error of a reload, or its success (empty). answer_reload(): tells
  // `warderd --reload` the result. files_in_force(): what this daemon reads.
  Task<> reload_catalog();
  Task<Result<std::shared_ptr<ReadConfiguration>>> read_configuration();
  void adopt_policies();
  std::vector<std::string> adopt_servers(std::vector<upstream::ServerConfig> servers,
                                         const std::vector<std::string>& unreadable_imports);
  using Shortfalls = std::vector<configuration::Shortfall>;
  Shortfalls open_missing_http(Shortfalls missing);
  Shortfalls open_missing_metrics(Shortfalls missing);
  configuration::FilesInForce files_in_force() const;
  Task<> answer_reload(std::string request, configuration::ReloadAnswer answer);
  // Writes the daemon's sockets for `warderd --check` (configuration/reload_exchange.h).
  Task<> publish_sockets();
  void end_executions(const std::string& why);
  void show_reload(const std::string& problem);

  // The end, in two steps: no new calls; then the answers of the running calls, and all records.
  void refuse_calls();
  Task<> finish_calls();
  // Ends all connections and all tasks. After it, only destruction.
  void disconnect();

 private:
  DaemonParts(Loop& loop, Prepared& prepared, DaemonControls controls);
  Services given(jail::Host& host);
  void add_tools();
  WorkerThread& files_thread();
  Task<> tidy();

  Loop& loop_;
  Prepared& prepared_;
  DaemonControls controls_;
  StateFolder state_;
  ReloadState reload_;
  std::unique_ptr<Parts> parts_;
  Scope tasks_;  // last: cancelled first
};
