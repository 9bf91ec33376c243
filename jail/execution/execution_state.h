// ExecutionState: how far one execution has come: the state of its program, and the state of its jail. Each event moves
// the state by one pure function; an event that the state does not allow is a violation.
// Source: the runner's messages, init's report, the supervisor's decision to stop. Used by:
// jail/execution/running_execution.h, which ends an execution with the outcome `protocol` at a violation.
// tests/jail/execution_state_test.cc is a table of every state and event. No errors.
#pragma once
#include <cstdint>
#include <optional>

namespace jail {

// In their order: a later state never goes back to an earlier one.
enum class ProgramState : uint8_t {
  starting,  // the interpreter is not ready, and the code is not sent as a whole
  supplied,  // the interpreter is not ready; the whole code waits in its socket
  ready,     // the interpreter is ready, and the code is not sent as a whole: time counts for the program from here on
  dispatched,  // the interpreter is ready; the whole code is in its socket, perhaps unread
  started,     // the runner has sent a message since it was ready: it has the code
  answered,    // the program's result came without an exit status: the runner's exit is awaited
  finished,    // the program's result came with the runner's exit status: its exit will tell no more
};

enum class JailState : uint8_t {
  alive,
  stopped,  // the supervisor kills the jail; Evidence::ended has the cause
  ended,    // init reported the runner's end, or ended itself
};

enum class ExecutionEvent : uint8_t {
  interpreter_ready,  // the runner's first message, or it was ready before
  code_sent,          // the whole run message is in the runner's socket
  message,            // the runner sent a message, not read yet
  call,               // that message is a call of a tool
  result,             // that message is the program's result, without an exit status
  final_result,       // that message is the program's result, with the runner's exit status
  stop,               // the supervisor kills the jail
  init_report,        // init reported, or ended
};

struct ExecutionState {
  ProgramState program = ProgramState::starting;
  JailState jail = JailState::alive;

  bool operator==(const ExecutionState&) const = default;

  // True if the whole code was never in the runner's socket, as far as the runner has not proved otherwise.
  bool lacks_code() const { return program == ProgramState::starting || program == ProgramState::ready; }
  // True if the runner proved that it has the code.
  bool was_started() const { return program >= ProgramState::started; }
  // True if time counts for the program, or has counted.
  bool has_started() const { return program >= ProgramState::ready; }
  bool is_finished() const { return program == ProgramState::finished; }
  // True if there is nothing more to wait for before the execution is concluded.
  bool is_over() const { return is_finished() || jail == JailState::ended; }
  // True if the program finished in a jail that no side has ended: its runner waits for a next program, or exits.
  bool outlives_program() const { return is_finished() && jail == JailState::alive; }
};

// The state after the event. Empty: a violation, and the state stays as it is.
std::optional<ExecutionState> next_state(ExecutionState state, ExecutionEvent event);

}  // namespace jail
