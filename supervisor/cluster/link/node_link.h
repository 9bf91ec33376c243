// NodeLink: warderd's connection to warder-node of the same machine: which node is the home of a workspace, how long
// this node may act as a home, and connections to the warderd of other nodes. Without warder-node the link tries again
// each second; requests for shared workspaces then fail, all others do not need it.
// Used by: request_router.h, supervisor/daemon/. Errors: unavailable: warder-node is not there, or cannot reach the
// cluster.
#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "supervisor/base/clock.h"
#include "supervisor/base/loop.h"
#include "supervisor/base/one_shot.h"
#include "supervisor/cluster/link/node_messages.h"
#include "supervisor/cluster/link/node_numbers.h"
#include "supervisor/cluster/link/view_messages.h"

namespace cluster {

// The two ends of a lease: from then on no program may start (Lease::starts_until), or run (Lease::runs_until).
enum class LeaseEnd { starts, runs };

class NodeLink {
 public:
  // `socket`: path of warder-node's socket. `ended` is called at each end of the lease: for `starts`, executions that
  // wait must not start; for `runs`, those that run must end.
  NodeLink(Loop& loop, std::string socket, std::function<void(LeaseEnd)> ended);
  NodeLink(const NodeLink&) = delete;
  NodeLink& operator=(const NodeLink&) = delete;

  // The home of a workspace, from memory or from warder-node. Errors: unavailable.
  Task<Result<Home>> home_of(tenants::TenantId id);
  // The nodes to ask for a stateless execution of an account, one after the other. `here_is_free`: this node has a free
  // slot. Errors: unavailable.
  Task<Result<std::vector<std::string>>> slots_for(std::string account, bool here_is_free);
  // The load of this daemon, as other nodes see it; unknown before report_load_of().
  NodeLoad load() const;
  // Sets the function to call when the cluster's rules may have changed: also after each connection.
  void on_rules(std::function<void()> changed);
  // The home as it is known now: the next home_of() returns it.
  void note_home(const tenants::TenantId& id, Home home) { homes_[id] = std::move(home); }
  // The next home_of() asks warder-node.
  void forget_home(const tenants::TenantId& id) { homes_.erase(id); }
  // Sends an order (node_messages.h) and returns the members of its answer, without "id". Errors: unavailable: it is
  // not known whether it was done; others: it was not done.
  Task<Result<Json>> order(const char* kind, Json question, std::chrono::seconds limit);
  // Whether this node may start and write as a home now.
  bool may_start() const { return boot_time() < lease_.starts_until; }
  // The name of this node; empty: warder-node has not sent it yet.
  const std::string& node() const { return lease_.node; }
  bool is_connected() const { return static_cast<bool>(socket_); }

  // The nodes, or the homes, page by page (view_messages.h). Errors: unavailable; exhausted: too many questions at
  // once.
  Task<Result<NodePage>> nodes_after(std::string name);
  Task<Result<HomePage>> homes(HomeQuestion question);
  // Removes the records of the homes here of an account. Errors: unavailable; some may be removed then.
  Task<Result<>> forget_homes(std::string account);
  Standing standing() const;
  // The last numbers of warder-node, and how long this node could not start as a home since the daemon's start.
  // `bus_silent` is of now: it grows while warder-node is not there.
  NodeNumbers numbers() const;
  std::chrono::microseconds fenced_time() const;
  // From now on warder-node learns the load of this daemon: `read` is called after load_changed() and when the link
  // is connected, every kLoadEvery at most. The function must outlive the object.
  void report_load_of(std::function<NodeLoad()> read);
  void load_changed();
  static constexpr std::chrono::milliseconds kLoadEvery{250};

  struct Opened {
    AsyncFd socket;    // carries MCP
    std::string boot;  // of the other warderd
  };
  // Opens a connection to the warderd of `node`. Errors: unavailable, with the reason that warder-node gives; then no
  // request was sent.
  Task<Result<Opened>> open(std::string node, NodeClient for_client);
  // Opens a connection for a query (query_messages.h). Errors: the same.
  Task<Result<Opened>> open_query(std::string node);
  // Opens a connection to the warderd of `node` that takes a workspace of this node. Errors: as open().
  Task<Result<AsyncFd>> open_push(std::string node, Push push);

 private:
  Task<> stay_connected();
  Task<> serve(AsyncFd& socket);
  void take(const Json& message);
  void take_matches(const Json& result);
  void take_done(Json answer);
  void take_failure(const Json& failed);
  void take_lease(const Json& message);
  Task<Result<Opened>> open_with(Json request);
  Task<Result<Json>> ask(const char* question, Json content);
  Task<Result<Json>> ask_view(const char* question, Json content);
  void take_answer(const Json& content);
  void take_numbers(const Json& report);
  void report_load();
  void lose();
  Result<> send(const Json& message);

  Loop& loop_;
  const std::string path_;
  const std::function<void(LeaseEnd)> ended_;
  std::function<void()> rules_changed_ = [] {};
  AsyncFd socket_;  // empty: not connected
  const std::string boot_;
  std::map<tenants::TenantId, Home> homes_;
  struct PendingQuestion {
    tenants::TenantId id;
    uint64_t moves;  // moves_ when it was asked
    OneShot<Result<Home>>::Resolver answer;
  };
  std::map<uint64_t, PendingQuestion> pending_;
  std::map<uint64_t, OneShot<Result<Json>>::Resolver> questions_;  // about nodes and homes
  std::map<uint64_t, OneShot<Result<Json>>::Resolver> ordered_;    // changes of homes
  uint64_t last_id_ = 0;
  size_t views_ = 0;    // questions with pages as answers
  uint64_t moves_ = 0;  // messages "moved": an answer to a question from before the last one may be old
  std::function<NodeLoad()> read_load_;
  std::optional<NodeLoad> reported_load_;  // nullopt: not on this connection
  std::optional<Deadline> telling_;
  Monotonic::time_point reported_at_{};
  NodeNumbers numbers_;
  Monotonic::time_point numbers_at_ = Monotonic::now();
  Lease lease_;
  std::chrono::microseconds fenced_{0}, fenced_until_ = boot_time();  // counted up to then
  bool has_held_ = false;                                             // a lease, since the start of this daemon
  Deadline starts_until_, runs_until_;
  Scope tasks_;  // last: cancelled first
};

}  // namespace cluster
