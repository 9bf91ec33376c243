// ServerConnection: the connection to one upstream server for one tenant, or for all tenants. The server is started
// (over HTTP: connected) when it is needed, ended when idle, and started again with growing pauses when it ends too
// often.
// Source: UpstreamServers. Errors: unavailable, naming server, reason and when to try again.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "supervisor/base/clock.h"
#include "supervisor/base/one_shot.h"
#include "supervisor/upstream/client.h"
#include "supervisor/upstream/server_config.h"

namespace upstream {

// ServerCounts: what happened with one server since the daemon started, over all its connections.
struct ServerCounts {
  uint64_t calls_ok = 0, calls_error = 0, calls_failed = 0;  // error: the tool's own answer; failed: no answer
  uint64_t calls_refused = 0;                                // by Warder, because too many calls wait
  uint64_t call_us = 0;                                      // of all calls, with the start of the server
  uint64_t starts_ok = 0, starts_failed = 0;
  uint64_t losses = 0;  // it ended, or hung, without being asked to end
};

class ServerConnection {
 public:
  struct Start {
    // Starts the server. The function owns the tenant's data that the start needs; it is dropped after the start.
    std::function<Task<Result<std::unique_ptr<Transport>>>(Variables secrets)> transport;
    Client::Questions questions = Client::Questions::none;
  };
  struct Observer {
    // Takes the list of tools at each start, and when the server reports a change. Empty: the list is not needed.
    std::function<Task<Result<>>(Json tools)> learned;
    ServerCounts* counts = nullptr;  // counts starts and losses; outlives the connection
    // Why a start failed or the server ended by itself; empty after a good start. May be empty itself.
    std::function<void(const std::string& problem)> problem = {};
  };
  ServerConnection(Loop& loop, Client::Reading reading, const ServerConfig& config, Observer observer);
  ~ServerConnection();
  ServerConnection(const ServerConnection&) = delete;

  // Starts the server if needed, and learns its tools.
  Task<Result<std::shared_ptr<Client>>> ready(Start start);
  // Calls a tool. `order` has no method yet. Its params hold the tool's name; the text of its arguments is shared, not
  // copied.
  Task<Result<ServerAnswer>> call(Start start, Client::Request order);
  // Ends the server, unless it is busy.
  void rest();
  // Whether the server runs, or over HTTP: has a session.
  bool is_running() const { return client_ != nullptr; }
  bool is_starting() const { return starting_; }
  // The next start is tried at once, however often earlier ones failed.
  void forget_failures() {
    failures_ = 0;
    not_before_ = {};
  }
  // No call uses the connection and no server runs: the connection may be destroyed.
  bool is_idle() const { return !starting_ && busy_ == 0; }  // no call uses it
  bool rests() const { return !client_ && !starting_ && busy_ == 0; }

 private:
  class Busy;
  Task<> begin(Start start);
  Task<Result<>> start_client(const Start& start);
  Task<Result<>> learn(std::shared_ptr<Client> client);
  void tools_changed();
  Task<> relearn();
  void started(Result<> result);
  void client_ended();

  Loop& loop_;
  Client::Reading reading_;
  const ServerConfig& config_;
  Observer observer_;
  std::shared_ptr<Client> client_;  // set while the server can be asked
  bool starting_ = false;
  bool outdated_ = false, learning_ = false;  // the known tools are old; tools/list runs
  Result<> last_start_;
  std::vector<OneShot<>::Resolver> waiting_;  // for the end of the start
  unsigned failures_ = 0;                     // failures in a row
  Monotonic::time_point not_before_;
  unsigned busy_ = 0;
  Deadline idle_;
  Scope tasks_;  // last: cancelled first
};

}  // namespace upstream
