// LoadModel: runs of many tenants on the nodes of a cluster, event by event. Where a run goes is decided by the
// product's own rules (supervisor/cluster/placement/place.h), and so is which runs a node refuses.
#pragma once
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/cluster/placement/place.h"
#include "tests/simulation/event_wheel.h"
#include "tests/simulation/random.h"
#include "tests/simulation/waits.h"

namespace simulation {

struct LoadScenario {
  std::string name;
  double load = 0.8;             // of all slots, when no node is lost or drained
  double anywhere = 0;           // share of the runs that may go anywhere; the others go home
  double hot_load = 0;           // share of the load that 1 % of the tenants make; 0: all make the same
  double seconds = 0.25;         // measured, after `warm_up_seconds`
  double warm_up_seconds = 0.1;  // and the event, if any, comes at its end
  size_t tenants_per_node = 100;
  bool lighter_homes = false;   // lighter_home() knows the counts; false: by hash alone
  bool near_clients = false;    // the clients of a tenant are at one node, which asked for the home
  bool equal_homes = false;     // each node has as many homes as the others: no placement can do better
  double lost_nodes = 0;        // share of nodes that lose their power
  bool lost_as_rack = false;    // neighbours, instead of random ones
  double drained_nodes = 0;     // share of nodes
  bool mixed_versions = false;  // 30 % speak wire version 1, 40 % 1 and 2, 30 % 2
  bool no_reports = false;      // from the event on
  bool exponential_service = false;
  double report_every_us = 0;  // 0: kReportEveryUs
};

struct LoadFigures {
  Waits wait;        // from the request to the start of the program: hops, refusals, the queue
  Waits queue;       // the last part of it, at the node that runs it
  Waits wait_quiet;  // the same of tenants that are not hot
  uint64_t requested = 0;
  uint64_t refused = 0;     // told to the client: the cluster or the tenant's queue is full
  uint64_t other_node = 0;  // runs that one node at least had refused
  uint64_t lost = 0;        // ended by the loss of their node, or their home is lost
  uint64_t unanswered = 0;  // orders to a node that was lost already
  uint64_t moved_homes = 0;
  double first_refusal_us = -1;  // after the event or the warm-up
  // Runs that broke a rule; must be 0.
  uint64_t on_drained = 0;  // started there although they may go anywhere, or after their home had moved
  uint64_t on_foreign_version = 0;
  uint64_t asked_twice = 0;    // a node within one request
  double fairness = 0;         // Jain's index of the tenants' mean response times (service and wait): 1 is equal
  double busiest_to_mean = 0;  // the busiest node's runs over the mean
};

// `nodes`: at least 10. Deterministic for one seed.
LoadFigures run_load(const LoadScenario& scenario, size_t nodes, uint64_t seed);

}  // namespace simulation
