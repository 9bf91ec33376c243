// FleetNumbers: numbers by tenant, upstream server and approval, as a scrape needs them. Source: the daemon's parts,
// gathered by supervisor/daemon/metrics_sockets.cc for one scrape. Used by: exposition.cc. No errors.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "supervisor/operations/metrics/busiest_tenants.h"
#include "supervisor/operations/metrics/cluster.h"
#include "supervisor/operations/metrics/text.h"

namespace metrics {

struct TenantNumbers {
  std::string name;
  BusiestTenants::Sum sum;
  uint64_t running = 0, waiting = 0;  // executions now
  uint64_t connections = 0;
  // The use and limits of the default workspace, as last counted. has_workspace is false for the sum of other tenants.
  bool has_workspace = false;
  uint64_t workspace_bytes = 0, workspace_limit_bytes = 0, workspace_files = 0, workspace_limit_files = 0;
};

struct ServerNumbers {
  std::string name;
  uint64_t connections = 0;  // running servers, or sessions over HTTP
  uint64_t calls_ok = 0, calls_error = 0, calls_failed = 0, calls_refused = 0;
  uint64_t call_us = 0;  // of all calls
  uint64_t starts_ok = 0, starts_failed = 0, losses = 0;
};

struct PoolNumbers {
  std::string language;
  uint64_t starting = 0, min = 0, max = 0;
};

struct IndexNumbers {  // of workspaces (tenants/index/workspace_index.h)
  uint64_t indexes = 0, without = 0, files = 0, watches = 0, walks = 0;
};

struct TaskNumbers {                // of all tenants
  uint64_t running = 0, ended = 0;  // `ended`: their results are kept
  uint64_t result_bytes = 0;
};

struct ProposalNumbers {  // of staged executions, in stores that were opened since the start
  uint64_t open = 0, bytes = 0;
  std::vector<std::pair<std::string_view, uint64_t>> results;  // commits and decisions, by result
};

struct HttpNumbers {  // of clients that speak HTTP, over TCP and on the Unix socket
  uint64_t connections = 0, sessions = 0, event_streams = 0;
  std::vector<std::pair<std::string_view, uint64_t>> refused;  // requests without valid credentials, by reason
  uint64_t tokens_good = 0, tokens_expire_soon = 0, tokens_expired = 0;
};

struct EgressNumbers {  // requests of jailed code to hosts, through the egress proxy
  std::vector<std::pair<std::string_view, uint64_t>> requests;  // by verdict
  uint64_t bytes_up = 0, bytes_down = 0;
};

struct FleetNumbers {
  bool shows_tenants = false;  // whether the reader may see the tenants' names
  uint64_t tenants_known = 0;
  std::vector<TenantNumbers> tenants;  // the last one is the sum of all others
  std::vector<ServerNumbers> servers;
  std::vector<PoolNumbers> pool;
  IndexNumbers indexes;
  ProposalNumbers proposals;
  HttpNumbers http;
  EgressNumbers egress;
  TaskNumbers tasks;
  ClusterNumbers cluster;
  uint64_t approvals_for_tenants = 0, approvals_for_administrators = 0;  // waiting
  std::vector<std::pair<std::string_view, uint64_t>> approvals;          // settled, by decision
  std::vector<std::pair<std::string_view, uint64_t>> quota_refusals;     // writes, by limit
};

// The text of these numbers. At most kMaxServers servers have names of their own; the others are left out.
inline constexpr size_t kMaxServers = 200;
void add_fleet(OpenMetricsText& text, const FleetNumbers& fleet);

}  // namespace metrics
