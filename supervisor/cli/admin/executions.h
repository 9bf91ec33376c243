// Executions as lines of a table; what `warder ps` and `warder top` print.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "supervisor/cli/admin/text.h"
#include "supervisor/cli/admin/values.h"

namespace admin {

// A line of titles, then one for each execution.
std::vector<std::string> executions_table(const std::vector<Json>& executions, size_t width);
// How long ago that was, of microseconds since 1970; 0 in the future.
uint64_t usec_since(uint64_t usec);

}  // namespace admin
