// TaskState: the states of a task, and which state may follow which.
// Source of the words: the MCP extension io.modelcontextprotocol/tasks (2026-07-28) and basic/utilities/tasks of
// 2025-11-25. Used by: TaskStore, and all code that shows tasks. No errors.
#pragma once
#include <array>
#include <optional>
#include <string_view>

namespace tasks {

enum class TaskState { working, input_required, completed, failed, cancelled };
constexpr std::array<TaskState, 5> kTaskStates = {TaskState::working, TaskState::input_required, TaskState::completed,
                                                  TaskState::failed, TaskState::cancelled};

// The word on the wire and in the journal: "input_required".
std::string_view state_name(TaskState state);
std::optional<TaskState> find_state(std::string_view name);

// Whether the task has ended: its state never changes again.
constexpr bool is_ended(TaskState state) { return state != TaskState::working && state != TaskState::input_required; }
// Whether a task may go from one state to another one. A task that has not ended may go to every other state.
constexpr bool may_follow(TaskState from, TaskState to) { return !is_ended(from) && from != to; }

}  // namespace tasks
