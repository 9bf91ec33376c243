#include "jail/execution/execution_state.h"

namespace jail {
namespace {

// The program's next state; empty: a violation. The program's events are the same in every state of the jail: what the
// runner sent before its end is read after it, too.
std::optional<ProgramState> next_program(ProgramState state, ExecutionEvent event) {
  using enum ProgramState;
  switch (event) {
    case ExecutionEvent::interpreter_ready:
      if (state == starting) return ready;
      if (state == supplied) return dispatched;
      return std::nullopt;
    case ExecutionEvent::code_sent:
      if (state == starting) return supplied;
      if (state == ready) return dispatched;
      if (state >= started) return state;  // the runner may have answered the first part
      return std::nullopt;
    case ExecutionEvent::message:
      if (state < ready) return std::nullopt;
      return state < started ? started : state;
    case ExecutionEvent::call:  // threads of a program may call after its result, too
      if (state < started) return std::nullopt;
      return state;
    case ExecutionEvent::result:
      return state == started ? std::optional(answered) : std::nullopt;
    case ExecutionEvent::final_result:
      return state == started ? std::optional(finished) : std::nullopt;
    case ExecutionEvent::stop:
    case ExecutionEvent::init_report:
      return state;
  }
  return std::nullopt;
}

std::optional<JailState> next_jail(JailState state, ExecutionEvent event) {
  if (event == ExecutionEvent::stop) return state == JailState::alive ? JailState::stopped : state;
  if (event != ExecutionEvent::init_report) return state;
  return state == JailState::ended ? std::nullopt : std::optional(JailState::ended);
}

}  // namespace

std::optional<ExecutionState> next_state(ExecutionState state, ExecutionEvent event) {
  const auto program = next_program(state.program, event);
  const auto jail = next_jail(state.jail, event);
  if (!program || !jail) return std::nullopt;
  return ExecutionState{*program, *jail};
}

}  // namespace jail
