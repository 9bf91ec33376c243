// LeaseModel: the leases of all nodes beside one leader of NATS's key-value store, and the take of homes of nodes that
// are cut off or dead. Both sides are the product's own (supervisor/cluster/placement/lease.h, homes.h).
#pragma once
#include <cstdint>
#include <string>

namespace simulation {

struct LeaseScenario {
  std::string name;
  double election_s = 0;  // no request is answered for this long
  // The server starts again: each node connects within 2 s and is sent the records that it watches, this many.
  bool is_restart = false;
  size_t replayed_records = 0;
  double cut_nodes = 0;  // share of nodes that are cut off from NATS while their programs run
  double cut_s = 0;      // longer than the scenario: they are dead
  size_t homes_per_node = 100;
  double seconds = 120;
};

struct LeaseFigures {
  size_t fenced = 0;                           // nodes that were fenced at least once, without those that were cut off
  size_t ended = 0;                            // of these: nodes whose programs had to be ended
  double oldest_s = 0;                         // the greatest age of a lease, without those that were cut off
  double settled_s = 0;                        // from the end of the fault until each node had a new renewal confirmed
  double records_bytes = 0;                    // sent again after a restart
  uint64_t claimed = 0;                        // homes
  uint64_t refused_takes = 0;                  // by compare-and-set: another taker was first
  double first_taken_s = 0, last_taken_s = 0;  // after the nodes were cut off
  uint64_t lost_homes = 0;                     // that a node knew to be lost after its connection was back
  // Broken rules; must be 0.
  uint64_t held_by_two = 0;    // homes taken while programs of the old node might still have run or written
  uint64_t taken_wrongly = 0;  // homes of a node that was not cut off
  uint64_t usable_again = 0;   // homes that were taken, and that the old node used afterwards
};

LeaseFigures run_leases(const LeaseScenario& scenario, size_t nodes, uint64_t seed);

}  // namespace simulation
