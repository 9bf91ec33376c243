// RequestRouter: passes requests for a workspace of another node on to the warderd of that node, as MCP 2026-07-28, and
// gives the answer to the client. Progress, questions and cancellation pass, too. Requests for a workspace of this node
// are answered here, while this node has its lease. An execution that declares itself stateless goes to the nodes that
// warder-node names, one after the other, until one takes it (stateless_routing.cc). An execution gets its id here
// (_meta["org.warder/executionId"]). When the connection to the other node is lost, the request is sent once more with
// the same id: that node returns its stored answer, or refuses; it runs no program twice. A request for a workspace
// that moves waits, and goes to the new home (move_gate.h). Errors of requests: {code: "unavailable" or "fenced", node,
// may_have_run, remedy}. Made by: supervisor/daemon/. Used by: mcp::Server.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "supervisor/base/loop.h"
#include "supervisor/base/loop_shares.h"
#include "supervisor/base/work.h"
#include "supervisor/cluster/link/far_answer.h"
#include "supervisor/cluster/link/far_connection.h"
#include "supervisor/cluster/link/hop_times.h"
#include "supervisor/cluster/link/move_gate.h"
#include "supervisor/cluster/link/node_link.h"
#include "supervisor/protocol/mcp/request_interceptor.h"
#include "supervisor/upstream/client.h"

namespace mcp {
class RequestContext;
}

namespace cluster {

// The key of _meta with the id of an execution.
inline constexpr char kExecutionIdKey[] = "org.warder/executionId";

// Requests for shared workspaces, since the start.
struct RoutingCounts {
  // Requests of clients of this node for another node. `lost`: sent, without an answer. `unreachable`: not sent.
  uint64_t answered = 0, unreachable = 0, lost = 0;
  // Requests of clients of other nodes. `served`: answered here. `moved`: the home is elsewhere, or is not known.
  uint64_t served = 0, moved = 0;
  uint64_t busy_there = 0, busy_here = 0;  // stateless executions that the other node, or this one, refused
  uint64_t fenced = 0;                     // for a home here, refused because this node has no lease
  uint64_t homeless = 0;                   // refused because the home is not known
  HopTimes hops;
};

class RequestRouter : public mcp::RequestInterceptor {
 public:
  // References must outlive the object. `server`: the name of this server as JSON.
  RequestRouter(Loop& loop, Work& work, LoopShares& shares, NodeLink& link, MoveGate& gate, std::string server);
  ~RequestRouter() override;

  bool concerns(mcp::Method method, const mcp::RequestContext& context) const override;
  Task<std::optional<mcp::Answer>> answer(mcp::Method method, mcp::RequestContext& context, Json& params,
                                          size_t max_bytes) override;
  const RoutingCounts& counts() const { return counts_; }

 private:
  // A request as it is sent to another node, perhaps twice.
  struct Request {
    std::string method;
    Json params;                                   // without the arguments of a tool
    std::shared_ptr<const std::string> arguments;  // of a tool, as JSON; nullptr: no tool
    bool is_safe_twice = false;                    // it changes nothing, or has an id
  };
  struct Attempt {
    Result<upstream::ServerAnswer> answer;  // an error: the connection failed
    bool was_sent = false;
    bool was_slow = false;  // not sent, after a wait for the connection
  };
  Task<Result<Request>> take(mcp::Method method, mcp::RequestContext& context, const Json& params);
  std::optional<FarFailure> why_not_passed_on(const Result<Home>& home, const mcp::RequestContext& context);
  // An execution that declares itself stateless, of a client of this node or of another. nullopt: answered here.
  Task<std::optional<mcp::Answer>> answer_stateless(mcp::RequestContext& context, const Json& params, ResultForm form);
  // For a client of this node: on a node with free slots. nullopt: here.
  Task<std::optional<mcp::Answer>> spread(mcp::RequestContext& context, const Json& params, ResultForm form);
  std::optional<mcp::Answer> answer_spread(const ResultForm& form);
  // nullopt: the node is not the home any more. The connection must be open at `until`.
  Task<std::optional<mcp::Answer>> ask(const Request& request, mcp::RequestContext& context, ResultForm form,
                                       Monotonic::time_point until);
  Task<std::optional<mcp::Answer>> conclude(const Request& request, mcp::RequestContext& context, ResultForm form,
                                            Attempt attempt);
  Task<Attempt> attempt(const Request& request, mcp::RequestContext& context, const std::string& node,
                        Monotonic::time_point until);
  Task<mcp::Answer> write(upstream::ServerAnswer answer, Work::Owner owner, ResultForm form);
  std::shared_ptr<FarConnection> connection_to(const std::string& node, NodeClient for_client);

  Loop& loop_;
  Work& work_;
  LoopShares& shares_;
  NodeLink& link_;
  MoveGate& gate_;
  const std::string server_;
  RoutingCounts counts_;
  using Key = std::pair<std::string, NodeClient>;  // the other node, and the client
  std::map<Key, std::shared_ptr<FarConnection>> connections_;
};

}  // namespace cluster
