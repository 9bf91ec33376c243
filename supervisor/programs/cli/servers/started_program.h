// run_program(): runs a program of the system and waits for it. Used by: network.cc.
#pragma once
#include <string>
#include <vector>

#include "supervisor/base/result.h"

namespace admin {

// Runs the words as a command, found in PATH, with the standard streams of this process. Errors: unavailable: it cannot
// be started, or did not end with status 0.
Result<> run_program(std::vector<std::string> words);

}  // namespace admin
