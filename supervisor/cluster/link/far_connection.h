// FarConnection: a connection to the warderd of another node, for one client of this node. It is opened for the first
// request, and again after it was lost. While a request waits for its answer, the other warderd must answer
// twice a second; without a sign of life for 2 s the connection is given up, and the requests fail.
// Used by: away.cc. Errors: unavailable.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "supervisor/base/fd.h"
#include "supervisor/base/loop.h"
#include "supervisor/cluster/link/hop_times.h"
#include "supervisor/cluster/link/node_link.h"
#include "supervisor/upstream/client.h"

namespace cluster {

class FarConnection {
 public:
  // `link` and `hops` must outlive the object. The times of the signs of life go into `hops`.
  FarConnection(Loop& loop, NodeLink& link, upstream::Client::Reading reading, std::string node, Acting acting,
                HopTimes& hops);
  FarConnection(const FarConnection&) = delete;
  FarConnection& operator=(const FarConnection&) = delete;

  // Opens the connection unless it is open. Errors: unavailable: no request can be sent.
  Task<Result<std::shared_ptr<upstream::Client>>> client();

  // While a Use exists, the connection is watched.
  class Use {
   public:
    explicit Use(FarConnection& connection) : connection_(connection) { connection_.uses_++; }
    ~Use() {
      connection_.uses_--;
      connection_.last_use_ = Monotonic::now();
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    FarConnection& connection_;
  };
  bool is_idle_since(Monotonic::time_point then) const { return uses_ == 0 && last_use_ < then; }

 private:
  Task<> open();
  Task<> watch(std::shared_ptr<upstream::Client> client);
  void give_up();

  Loop& loop_;
  NodeLink& link_;
  const upstream::Client::Reading reading_;
  const std::string node_;
  const Acting acting_;
  HopTimes& hops_;
  std::shared_ptr<upstream::Client> client_;  // nullptr: not open
  Fd socket_;                                 // of client_, to end it
  Error why_;                                 // why it could not be opened
  std::vector<std::shared_ptr<Event>> waiting_;
  bool is_opening_ = false;
  size_t uses_ = 0;
  Monotonic::time_point last_use_ = Monotonic::now();
  Scope tasks_;  // last: cancelled first
};

}  // namespace cluster
