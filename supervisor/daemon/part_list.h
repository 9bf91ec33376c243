// The list of the daemon's parts. Used by: daemon_parts.cc, and the test that opens no daemon but checks their needs.
#pragma once
#include <vector>

#include "supervisor/parts.h"

std::vector<PartEntry> all_parts();
