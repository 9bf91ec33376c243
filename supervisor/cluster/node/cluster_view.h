// The pages of the view of the cluster (../link/view_messages.h): nodes and homes, as this node knows them. Without
// I/O. Source: the trust record, the table of nodes and the records of homes. Used by: node_service.h. No errors.
#pragma once
#include <map>
#include <string>

#include "supervisor/cluster/link/node_numbers.h"
#include "supervisor/cluster/link/view_messages.h"
#include "supervisor/cluster/placement/homes.h"
#include "supervisor/cluster/placement/place.h"
#include "supervisor/cluster/trust/trust_record.h"

namespace cluster {

constexpr size_t kMaxPage = kMaxLine - 512;  // bytes of the rows of one page

struct ViewSources {
  const TrustRecord& trust;
  const NodeTable& table;
  const HomeCounts& homes;
  const std::string& self;  // the name of this node
};

// The nodes of the trust record, and those that it does not name and that still are homes, in the order of names behind
// `after`: {"nodes", "next"}. Its time does not grow with the number of homes.
Json nodes_page(const ViewSources& sources, const std::string& after, BootClock::time_point now);

// How many nodes are in each state, and how many homes are here.
void count_nodes(const ViewSources& sources, BootClock::time_point now, NodeNumbers& numbers);

// Homes in the order of keys: {"homes", "next"}. At most kMaxLooked records are looked at, so a page may be empty
// and name a next one.
constexpr size_t kMaxLooked = 10'000;
Json homes_page(const std::map<std::string, HomeRecord>& records, const HomeQuestion& question);

}  // namespace cluster
