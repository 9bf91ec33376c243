// Changes a network namespace, for the tests of network_view.h: each plant_ function adds one thing beside lo to the
// namespace of the calling thread. Returns a reason on failure, empty: it is planted.
#pragma once
#include <string>

#include "supervisor/base/fd.h"

std::string raise_lo();
std::string plant_link();  // of the first kind that this kernel has
std::string plant_address();
std::string plant_route();
std::string plant_neighbour();
std::string plant_rule();
// A socket for view_network().
Fd open_netlink();
