#include "supervisor/cli/admin/executions.h"

#include <chrono>

namespace admin {

uint64_t usec_since(uint64_t usec) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto count = static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(now).count());
  return count > usec ? count - usec : 0;
}

std::vector<std::string> executions_table(const std::vector<Json>& executions, size_t width) {
  const std::vector<Column> columns = {{"ID"},
                                       {"TENANT", Align::left, Fit::shrinks},
                                       {"LANGUAGE"},
                                       {"STATE"},
                                       {"AGE", Align::right},
                                       {"WALL", Align::right},
                                       {"CPU", Align::right},
                                       {"MEMORY", Align::right}};
  std::vector<Line> lines;
  for (const Json& execution : executions) {
    const auto outcome = text(execution, "Outcome");
    lines.push_back({text(execution, "Id"), text(execution, "Tenant"), text(execution, "Language"),
                     outcome.empty() ? text(execution, "State") : outcome,
                     usec_text(usec_since(number(execution, "AskedUSec"))), usec_text(number(execution, "WallUSec")),
                     usec_text(number(execution, "CPUUSec")), bytes_text(number(execution, "MemoryBytes"))});
  }
  return table(columns, lines, width);
}

}  // namespace admin
