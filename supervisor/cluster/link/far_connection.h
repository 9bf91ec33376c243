// FarConnection: a connection to the warderd of another node, for one client of this node. It is opened for the first
// request, and again after it was lost. While a request waits for its answer, the other warderd is asked for a sign of
// life some three times a second. 1.8 s after its last byte a second connection is tried, which replaces the silent
// one; 2.2 s after it the connection is given up, and the requests fail. A minute after its last request it is closed.
// Used by: request_router.cc. Errors: unavailable.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "supervisor/base/clock.h"
#include "supervisor/base/fd.h"
#include "supervisor/base/loop.h"
#include "supervisor/cluster/link/hop_times.h"
#include "supervisor/cluster/link/node_link.h"
#include "supervisor/upstream/client.h"

namespace cluster {

class FarConnection {
 public:
  // `link` and `hops` must outlive the object. The times of the signs of life go into `hops`. `idle` is called, with no
  // task on the stack, when the connection is not used any more; it may destroy the object.
  FarConnection(Loop& loop, NodeLink& link, upstream::Client::Reading reading, std::string node, NodeClient for_client,
                HopTimes& hops, std::function<void()> idle);
  FarConnection(const FarConnection&) = delete;
  FarConnection& operator=(const FarConnection&) = delete;

  // Opens the connection unless it is open. Errors: unavailable: no request can be sent, or the connection is not open
  // at `until`; after a silence 0.2 s after the opening began, if this is earlier. The opening continues then.
  Task<Result<std::shared_ptr<upstream::Client>>> client(Monotonic::time_point until);

  // While a Use exists, the connection is watched.
  class Use {
   public:
    explicit Use(FarConnection& connection) : connection_(connection) { connection_.begin_use(); }
    ~Use() { connection_.end_use(); }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    FarConnection& connection_;
  };

 private:
  void begin_open();
  Task<> open();
  void begin_use();
  void end_use();
  void begin_watch();
  Task<> watch();
  Task<> ask_for_sign(std::shared_ptr<upstream::Client> client);
  void end_socket();
  void give_up();

  Loop& loop_;
  NodeLink& link_;
  const upstream::Client::Reading reading_;
  const std::string node_;
  const NodeClient for_client_;
  HopTimes& hops_;
  std::shared_ptr<upstream::Client> client_;  // nullptr: not open
  uint64_t received_ = 0;                     // bytes of client_, at the last turn of watch()
  int silent_turns_ = 0;                      // of watch(), without a byte
  Monotonic::time_point ping_sent_{};         // for a sign of life
  Fd socket_;                                 // of client_, to end it
  Error why_;                                 // why it could not be opened
  std::vector<std::shared_ptr<Event>> waiting_;
  bool was_silent_ = false;  // given up, and not opened since
  bool is_opening_ = false;
  Monotonic::time_point opening_since_{};
  size_t uses_ = 0;
  bool is_watching_ = false;
  const std::function<void()> idle_;
  Deadline idle_after_;  // set while it is not used
  Scope tasks_;          // last: cancelled first
};

}  // namespace cluster
