#include "supervisor/protocol/tasks/task_state.h"

namespace tasks {

std::string_view state_name(TaskState state) {
  switch (state) {
    case TaskState::working:
      return "working";
    case TaskState::input_required:
      return "input_required";
    case TaskState::completed:
      return "completed";
    case TaskState::failed:
      return "failed";
    case TaskState::cancelled:
      return "cancelled";
  }
  return "";
}

std::optional<TaskState> find_state(std::string_view name) {
  for (const TaskState state : kTaskStates)
    if (state_name(state) == name) return state;
  return {};
}

}  // namespace tasks
