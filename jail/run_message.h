// RunMessage: what a runner is told to do (jail/guest/README.md), as the text that goes over its channel.
#pragma once
#include <string>

#include "jail/execution.h"

namespace jail {

// `max_message`: what one message of the runner's may have.
std::string run_message(const Request& request, size_t max_message);

}  // namespace jail
