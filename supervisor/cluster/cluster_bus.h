// org.warder.Warder1.Cluster: what D-Bus shows of the cluster, and what operators do with it. Used by: part.cc. Errors
// of the methods: unavailable without a cluster; denied; those of NodeLink and Moves.
#pragma once
#include <memory>

#include "supervisor/cluster/cluster_queries.h"
#include "supervisor/cluster/link/membership.h"
#include "supervisor/cluster/moves/moves.h"
#include "supervisor/operations/bus/offered_members.h"

namespace cluster {

// The cluster that this node has joined; all are nullptr without one. The moves and the queries use the membership, so
// that they are destroyed first.
struct JoinedCluster {
  std::unique_ptr<Membership> membership;
  std::unique_ptr<moves::Moves> moves;
  std::unique_ptr<ClusterQueries> queries;
};

// `cluster` must outlive the members; it may be set later.
void add_bus_members(bus::OfferedMembers& members, const JoinedCluster& cluster);

}  // namespace cluster
