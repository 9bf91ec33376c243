// The list of the daemon's parts. Used by: daemon_parts.cc.
#pragma once
#include <vector>

#include "supervisor/parts.h"

std::vector<PartEntry> all_parts();
