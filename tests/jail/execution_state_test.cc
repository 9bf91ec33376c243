// The states of an execution: a table of every state and every event, and what the states mean.
#include "jail/execution/execution_state.h"

#include <string>

#include "tests/catch.h"

using jail::ExecutionEvent;
using jail::ExecutionState;
using jail::JailState;
using jail::next_state;
using jail::ProgramState;

namespace {

constexpr ProgramState kProgramStates[] = {ProgramState::starting,   ProgramState::supplied, ProgramState::ready,
                                           ProgramState::dispatched, ProgramState::started,  ProgramState::answered,
                                           ProgramState::finished};
constexpr JailState kJailStates[] = {JailState::alive, JailState::stopped, JailState::ended};
constexpr int kEvents = 8;
constexpr auto kViolation = static_cast<ProgramState>(255);

// The next state of the program; rows are kProgramStates. The state of the jail changes nothing in this table.
ProgramState next_in_table(size_t program, int event) {
  using enum ProgramState;
  static constexpr ProgramState kTable[][kEvents] = {
      // interpreter_ready, code_sent, message, call, result, final_result, stop, init_report
      {ready, supplied, kViolation, kViolation, kViolation, kViolation, starting, starting},
      {dispatched, kViolation, kViolation, kViolation, kViolation, kViolation, supplied, supplied},
      {kViolation, dispatched, started, kViolation, kViolation, kViolation, ready, ready},
      {kViolation, kViolation, started, kViolation, kViolation, kViolation, dispatched, dispatched},
      {kViolation, started, started, started, answered, finished, started, started},
      {kViolation, answered, answered, answered, kViolation, kViolation, answered, answered},
      {kViolation, finished, finished, finished, kViolation, kViolation, finished, finished},
  };
  return kTable[program][event];
}

// The next state of the jail, by `stop` and `init_report`; other events change nothing.
constexpr JailState kAfterStop[] = {JailState::stopped, JailState::stopped, JailState::ended};

std::string name_of(ExecutionState state, int event) {
  return "program " + std::to_string(static_cast<int>(state.program)) + ", jail " +
         std::to_string(static_cast<int>(state.jail)) + ", event " + std::to_string(event);
}

}  // namespace

TEST_CASE("every event moves every state of an execution as the table says", "[execution_state]") {
  int pairs = 0;
  for (size_t p = 0; p < std::size(kProgramStates); p++) {
    for (size_t j = 0; j < std::size(kJailStates); j++) {
      for (int e = 0; e < kEvents; e++) {
        const ExecutionState state{kProgramStates[p], kJailStates[j]};
        const auto event = static_cast<ExecutionEvent>(e);
        INFO(name_of(state, e));
        const auto next = next_state(state, event);
        pairs++;
        JailState jail = kJailStates[j];
        bool allowed = next_in_table(p, e) != kViolation;
        if (event == ExecutionEvent::stop) jail = kAfterStop[j];
        if (event == ExecutionEvent::init_report) {
          allowed = jail != JailState::ended;  // init reports once
          jail = JailState::ended;
        }
        REQUIRE(next.has_value() == allowed);
        if (allowed) CHECK(*next == ExecutionState{next_in_table(p, e), jail});
      }
    }
  }
  CHECK(pairs == 7 * 3 * 8);
}

TEST_CASE("an event or a state that does not exist is a violation", "[execution_state]") {
  CHECK_FALSE(next_state({ProgramState::started, JailState::alive}, static_cast<ExecutionEvent>(kEvents)));
  CHECK_FALSE(next_state({kViolation, JailState::alive}, ExecutionEvent::interpreter_ready));
  CHECK_FALSE(next_state({kViolation, JailState::alive}, ExecutionEvent::result));
}

TEST_CASE("a stop is never a violation, so a violation can end every execution", "[execution_state]") {
  for (const ProgramState program : kProgramStates)
    for (const JailState jail : kJailStates) CHECK(next_state({program, jail}, ExecutionEvent::stop));
}

TEST_CASE("no event leads back to an earlier state", "[execution_state]") {
  for (const ProgramState program : kProgramStates) {
    for (const JailState jail : kJailStates) {
      for (int e = 0; e < kEvents; e++) {
        const auto next = next_state({program, jail}, static_cast<ExecutionEvent>(e));
        if (!next) continue;
        INFO(name_of({program, jail}, e));
        CHECK(next->program >= program);
        CHECK(next->jail >= jail);
      }
    }
  }
}

TEST_CASE("what the states of a program mean", "[execution_state]") {
  struct Row {
    ProgramState program;
    bool lacks_code, has_started, was_started, is_finished;
  };
  using enum ProgramState;
  const Row rows[] = {{starting, true, false, false, false}, {supplied, false, false, false, false},
                      {ready, true, true, false, false},     {dispatched, false, true, false, false},
                      {started, false, true, true, false},   {answered, false, true, true, false},
                      {finished, false, true, true, true}};
  for (const Row& row : rows) {
    const ExecutionState state{row.program, JailState::alive};
    INFO(name_of(state, -1));
    CHECK(state.lacks_code() == row.lacks_code);
    CHECK(state.has_started() == row.has_started);
    CHECK(state.was_started() == row.was_started);
    CHECK(state.is_finished() == row.is_finished);
    CHECK(state.outlives_program() == row.is_finished);
    for (const JailState over : {JailState::stopped, JailState::ended})
      CHECK_FALSE(ExecutionState{row.program, over}.outlives_program());
  }
}
