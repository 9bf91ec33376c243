// What tests with real jails share: one fixture for the whole program, executions side by side, and a census of what
// jails may leave behind.
#pragma once
#include <deque>
#include <iosfwd>
#include <optional>

#include "tests/jail/await.h"
#include "tests/jail/jail_fixture.h"

// Made by the first who asks. Where this machine cannot make jails, says "SKIPPED-ALL-NEEDS ..." and ends the program.
JailFixture& jails();

// Executions that run at the same time. Destroying this cancels those that have no answer yet.
class SideBySide {
 public:
  explicit SideBySide(JailFixture& fixture) : fixture_(fixture), scope_(fixture.loop()) {}
  size_t start(jail::Request request);
  bool answered(size_t index) const { return answers_[index].has_value(); }
  // Waits for it, with a bound.
  jail::Report& answer(size_t index);
  void cancel_all() { scope_.cancel_all(); }

 private:
  JailFixture& fixture_;
  std::deque<std::optional<Result<jail::Report>>> answers_;
  Scope scope_;
};

// What this process, its jailer and their jails hold.
struct Census {
  size_t descriptors = 0;
  size_t processes = 0;  // of ids that only jails have; without such ids, below this process
  size_t mounts = 0;     // in this mount namespace
  size_t tasks = 0;      // of the loop
  bool operator==(const Census&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Census& census);  // for a failed CHECK
// Waits until ended jails have been cleared away, then counts.
Census census_at_rest(JailFixture& fixture);
// Runs the loop until the census is `wanted`, at most some seconds; returns the last taken.
Census settle(JailFixture& fixture, const Census& census);

// Processes on this host with the runner's id: what jailed code left behind. Nothing without an id of its own. Looks
// for some seconds until there are none: where a program's own end was told, its killed jail may take a moment more.
std::optional<size_t> processes_of_runners(JailFixture& fixture);
