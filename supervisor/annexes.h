// Annexes: parts of the daemon that it can be built without, each by an option of CMake. The two functions are made by
// CMake for each program (annexes.cc.in). An annex includes what it needs of the daemon; no other room includes an
// annex: a room that can use a service of it has a pointer among its needs (parts.h), which is nullptr without the
// annex. Used by: the list of parts, and the texts that name absent annexes. No errors.
#pragma once
#include <string>
#include <vector>

#include "supervisor/parts.h"

std::vector<PartEntry> annex_parts();
// The annexes that this program was built without, by the names of their options: "cluster" of WARDER_CLUSTER.
std::vector<std::string> absent_annexes();
