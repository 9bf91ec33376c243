// MetricsSockets: the daemon's metrics over HTTP, on the sockets that systemd passed, or the one that main.cc made for
// --metrics.
// Source: the daemon's parts, read for each scrape. Made by: DaemonParts. Errors of open(): those of http::Endpoint.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "jail/pool/pool.h"
#include "supervisor/daemon/client_doors.h"
#include "supervisor/daemon/cluster_parts.h"
#include "supervisor/daemon/prepared.h"
#include "supervisor/daemon/state_disk.h"
#include "supervisor/egress/egress_link.h"
#include "supervisor/operations/bus/members.h"
#include "supervisor/operations/metrics/busiest_tenants.h"
#include "supervisor/operations/metrics/fleet.h"
#include "supervisor/protocol/http/endpoint.h"
#include "supervisor/records/journal/journal.h"
#include "supervisor/records/traces/queue.h"
#include "supervisor/upstream/calls/approvals.h"
#include "supervisor/upstream/upstream_servers.h"

class MetricsSockets {
 public:
  struct Parts {  // must outlive this object
    Loop& loop;
    Prepared& prepared;
    const StateDisk& state_disk;
    const journal::Journal& journal;
    const mcp::Server& server;
    const executions::ExecutionRegistry& executions;
    const metrics::BusiestTenants& busiest_tenants;
    const jail::Pool& pool;
    const calls::Approvals& approvals;
    const upstream::UpstreamServers& upstream;
    const egress::EgressLink& egress;
    const tenants::Registry& registry;
    const tenants::IndexHost& indexes;
    const bus::Members& members;
    const tasks::TaskStore& tasks;
    const proposals::ProposalStores& proposals;
    const ClientDoors& doors;
    const ClusterParts& cluster;
    const traces::Queue* spans;  // nullptr: no spans are recorded
    std::function<bool()> has_reload_failed;
  };
  explicit MetricsSockets(Parts parts) : parts_(std::move(parts)) {}
  MetricsSockets(const MetricsSockets&) = delete;

  Result<> open();
  // As ClientDoors::open_missing(), for the socket of the key "metrics".
  std::vector<configuration::Shortfall> open_missing(std::vector<configuration::Shortfall> missing);

 private:
  // Readers: which clients a socket has, and whether they may see the names of tenants.
  struct Readers {
    bool are_tcp = false;  // any user of this machine
    bool see_tenants = false;
  };
  Result<> open_socket(Fd socket, Readers readers);
  http::Response answer(const http::HttpRequest& asked, Readers readers) const;
  metrics::FleetNumbers fleet_numbers(bool shows_tenants) const;

  const Parts parts_;
  int64_t started_s_ = 0;  // when open() was called, since 1970
  std::vector<std::unique_ptr<http::Endpoint>> endpoints_;
};
