// ServerConnection: the connection to one upstream server for one tenant, or for everybody. The server is started (or,
// over HTTP, spoken to) when it is needed, ended when it idles, started again with growing pauses when it keeps ending.
// Source: UpstreamServers. Errors: unavailable, naming server, reason and when to try again.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "supervisor/base/clock.h"
#include "supervisor/upstream/client.h"
#include "supervisor/upstream/definitions.h"

namespace upstream {

class ServerConnection {
 public:
  struct Start {
    // Starts it; what that needs of the tenant is in there, and kept no longer than that takes.
    std::function<Task<Result<std::unique_ptr<Transport>>>(Variables secrets)> transport;
    Client::Questions questions = Client::Questions::none;
  };
  struct Told {
    std::function<void(Definitions)> learned;  // at each start, and when the server says that they changed
  };
  ServerConnection(Loop& loop, Client::Reading reading, const ServerConfig& config, Told told);
  ~ServerConnection();
  ServerConnection(const ServerConnection&) = delete;

  // A started client whose tools are known.
  Task<Result<std::shared_ptr<Client>>> ready(Start start);
  // `order` without method, with the name as its parameter, and with the text of its arguments, which is not copied.
  Task<Result<ServerAnswer>> call(Start start, Client::Order order);
  // Ends it, unless it is busy.
  void rest();
  // Nobody uses it and nothing runs: it may be forgotten.
  bool rests() const { return !client_ && !starting_ && busy_ == 0; }

 private:
  class Busy;
  Task<> begin(Start start);
  Task<Result<>> start_client(const Start& start);
  Task<Result<>> learn(std::shared_ptr<Client> client);
  void tools_changed();
  Task<> learn_again();
  void started(Result<> result);
  void client_ended();

  Loop& loop_;
  Client::Reading reading_;
  const ServerConfig& config_;
  Told told_;
  std::shared_ptr<Client> client_;  // set when it can be asked
  bool starting_ = false;
  bool outdated_ = false, learning_ = false;  // what is known of its tools
  Result<> last_start_;
  std::vector<std::shared_ptr<Event>> waiting_;
  unsigned failures_ = 0;  // in a row
  Monotonic::time_point not_before_;
  unsigned busy_ = 0;
  Deadline idle_;
  Scope tasks_;  // last: cancelled first
};

}  // namespace upstream
