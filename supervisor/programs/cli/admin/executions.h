// Executions table: the executions as lines of text. Used by: `warder ps`, `warder top`.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "supervisor/programs/cli/admin/text.h"
#include "supervisor/programs/cli/admin/values.h"

namespace admin {

// Whether a table says on which node each execution is.
enum class NodeColumn { no, yes };
// A line of titles, then one line for each execution. `id_length`: how many characters of an id are shown; 0: all.
std::vector<std::string> executions_table(const std::vector<Json>& executions, size_t width, size_t id_length = 0,
                                          NodeColumn nodes = NodeColumn::no);
// Microseconds from `usec`, a time in microseconds since 1970, until now; 0 if `usec` is in the future.
uint64_t usec_since(uint64_t usec);

}  // namespace admin
