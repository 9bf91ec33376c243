#include "supervisor/programs/cli/admin/executions.h"

#include <chrono>

namespace admin {

uint64_t usec_since(uint64_t usec) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto count = static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(now).count());
  return count > usec ? count - usec : 0;
}

namespace {

// A program that has not begun has no wall time.
std::string wall_text(const Json& execution) {
  const auto state = text(execution, "State");
  if (state == "waiting" || state == "starting") return "-";
  return known_usec_text(known_number(execution, "WallUSec"));
}

// A daemon of an earlier version does not tell it.
std::string workspace_text(const Json& execution) {
  const auto workspace = text(execution, "Workspace");
  return workspace.empty() ? "-" : workspace == "read_only" ? "read-only" : workspace;
}

// A background execution is marked while it has no outcome.
std::string state_text(const Json& execution) {
  if (const auto outcome = text(execution, "Outcome"); !outcome.empty()) return outcome;
  const auto background = execution.find("Background");
  const bool is_background = background != execution.end() && background->is_boolean() && background->get<bool>();
  return text(execution, "State") + (is_background ? ", background" : "");
}

}  // namespace

std::vector<std::string> executions_table(const std::vector<Json>& executions, size_t width, size_t id_length,
                                          NodeColumn nodes) {
  std::vector<Column> columns = {{"ID"},
                                 {"TENANT", Align::left, Fit::shrinks},
                                 {"LANGUAGE"},
                                 {"WORKSPACE"},
                                 {"STATE"},
                                 {"AGE", Align::right},
                                 {"WALL", Align::right},
                                 {"CPU", Align::right},
                                 {"MEMORY", Align::right}};
  if (nodes == NodeColumn::yes) columns.insert(columns.begin(), Column{"NODE"});
  std::vector<Line> lines;
  for (const Json& execution : executions) {
    const auto id = text(execution, "Id");
    lines.push_back({id_length > 0 ? id.substr(0, id_length) : id, text(execution, "Tenant"),
                     text(execution, "Language"), workspace_text(execution), state_text(execution),
                     usec_text(usec_since(number(execution, "AskedUSec"))), wall_text(execution),
                     known_usec_text(known_number(execution, "CPUUSec")),
                     known_bytes_text(known_number(execution, "MemoryBytes"))});
    if (nodes == NodeColumn::yes) lines.back().insert(lines.back().begin(), text(execution, "Node"));
  }
  return table(columns, lines, width);
}

}  // namespace admin
