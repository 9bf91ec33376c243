// Where work goes in a cluster: the home of a workspace, and the node of a run that may go anywhere.
// Pure functions of a NodeTable, the time and a source of random numbers: no I/O, so that tests and the simulation of
// 1,000 nodes (tests/simulation/) use exactly the rules of the product.
#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "policies/tenant_id.h"
#include "supervisor/base/result.h"
#include "supervisor/cluster/placement/node_table.h"

namespace cluster {

// A node that was not heard for this long gets no new work. Reports come each second. During an election of NATS, which
// takes up to 9 s, reports are missing although the nodes work: so this is longer.
constexpr auto kSilentAfter = std::chrono::seconds(15);
// Three reports are missing (one in a thousand nodes at any time, if a tenth of the reports is lost): runs that may go
// anywhere go to other nodes while there are others.
constexpr auto kDoubtedAfter = std::chrono::milliseconds(3'500);
// Load becomes old: reports are compared with a random error that grows with their age, up to this age and this width
// (executions per slot, half of it in each direction). Exact when fresh; older than this it distinguishes only
// overloaded nodes, as the homes of hot tenants. Without the error all askers would send their runs to the few nodes
// with the lowest reports, until the next report: with 1,000 nodes at 95 % load, reports of each second and an error
// of 1 made the p99 wait 1.8 times as long as this one.
constexpr auto kLoadStaleAfter = std::chrono::milliseconds(50);
constexpr double kStaleError = 8;
constexpr size_t kMaxTries = 4;
// Occupancy at which a node refuses a run that may go anywhere. Above 1, since a short wait here takes less time than a
// refusal and a try at another node: 8 waiting executions of 1.5 ms on 16 slots are 0.8 ms, there and back is 0.9 ms.
constexpr double kRefuseAbove = 1.5;

// 64 random bits at each call. The product gives getrandom(2), tests a generator with a seed.
using RandomBits = std::function<uint64_t()>;

// What a node must have for some work.
struct PlacementNeeds {
  NodeLabels labels = {};  // all are required, with the same value
  WireVersions wire = {};  // versions that the asker speaks; one in common is enough
};

// The number of recorded homes of each node. A node without homes may be missing.
using HomeCounts = std::map<std::string, size_t, std::less<>>;
// The home to record for a workspace that needs one. Of the nodes that are heard, not drained, have a slot and meet the
// needs, the two with the highest hash of (workspace, node) are candidates: the home is the one that is home of fewer
// workspaces; if equal, the one with the highest hash. When a node leaves, only its own workspaces get another home;
// when it comes back, exactly these return. Every node with the same tables finds the same home, and where tables
// differ the compare-and-set of the record decides. The hash is part of the protocol: it never changes.
// The number of slots has no weight: a node that lies about it must not draw the workspaces of others.
// In the simulation of 1,000 nodes the busiest node has 1.07 times the mean load, by the hash alone (empty `homes`)
// 1.25 times, and the p99 wait at 80 % load is 1.3 instead of 3.4 ms.
// `here`: the node whose client asks; it is the home if it may be one and has no more homes than the other would have,
// and 1 in 64 more. Agents stay at one node, so most of their requests have no hop then. Empty: absent.
// Errors: unavailable, with the number of nodes for each reason.
Result<std::string> lighter_home(const NodeTable& nodes, const HomeCounts& homes, const tenants::TenantId& workspace,
                                 const PlacementNeeds& needs, BootClock::time_point now, std::string_view here = {});

// The node's own rule for a run that may go anywhere: false means refuse. `self` is the exact state of now.
bool takes_run(const NodeReport& self);

// The choices for one run that may go anywhere. A new object for each request.
//   RunPlacement placement(nodes, request, random);
//   auto node = placement.next(now);            // ask it; if it refuses or cannot be reached:
//   node = placement.next(now);                 // another node, at most kMaxTries in all
// The asker's own node comes first while it has a free slot: no hop, and its load is known exactly. Otherwise the
// better of two random nodes: one that is not doubted (kDoubtedAfter, NodeTable::note_unanswered), then the one with
// the lower occupancy, compared with the error of kStaleError.
class RunPlacement {
 public:
  struct Request {
    PlacementNeeds needs = {};
    std::string here = {};      // the asker's own node; empty: it takes no runs
    bool here_is_free = false;  // a slot is free here, at this moment
  };

  // `nodes` and `random` must outlive the object.
  RunPlacement(const NodeTable& nodes, Request request, const RandomBits& random);

  // The name of the next node to ask. Never one that this object named before.
  // Errors: unavailable (no node is left that may take it, with the reasons), exhausted (kMaxTries nodes were asked).
  Result<std::string> next(BootClock::time_point now);

  // Nodes that were named so far, in order.
  const std::vector<std::string>& tried() const { return tried_; }

 private:
  static constexpr size_t kNoNode = size_t(-1);

  bool may_take(const NodeReport& node, BootClock::time_point now) const;
  size_t random_candidate(size_t other_than, BootClock::time_point now) const;
  bool is_better(const NodeReport& node, const NodeReport& other, BootClock::time_point now) const;
  double blurred_occupancy(const NodeReport& node, BootClock::time_point now) const;
  uint64_t random_below(uint64_t limit) const;

  const NodeTable& nodes_;
  Request request_;
  const RandomBits& random_;
  std::vector<std::string> tried_;
};

}  // namespace cluster
