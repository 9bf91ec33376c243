// Session: one jail that runs program after program in one interpreter. Between two programs a cgroup freezes it.
// Without a cgroup it is watched, and ended if it keeps computing.
// Used by: supervisor/executions/sessions.h. A program that ends in any other way than by its own answer ends the
// session.
#pragma once
#include <memory>
#include <string>

#include "jail/execution/execution.h"
#include "jail/host.h"
#include "jail/jail.h"
#include "jail/usage/code_priority.h"

namespace jail {

class Session {
 public:
  // Both must outlive the session.
  Session(Host& host, Pool& pool) : host_(host), pool_(pool), between_(host.loop) {}
  ~Session();

  // Runs the next program, one at a time; the first request decides how the jail is built. Destroying the task ends the
  // session. Errors: for the first program those of execute(); for a later one: the session has ended.
  Task<Result<Report>> run(Request request);

  // Between two programs: true if a next program is possible.
  bool alive() const { return jail_.jail != nullptr; }
  // Why the session ended between two programs; empty if it ended with a program.
  const std::string& why() const { return why_; }
  // Ends the session between two programs.
  void end(std::string why);

  uint32_t calls() const { return calls_; }
  bool frozen() const { return alive() && jail_.jail->cgroup(); }
  // Memory that it holds between two programs; without a cgroup, at the last look, which a second may have passed
  // since.
  uint64_t memory_bytes() const;
  // True if it has used CPU time since its last program; it may then have written to the workspace, uncounted.
  bool has_worked() const { return worked_; }

 private:
  void rest();
  Task<> watch_end();
  Task<> watch_work();
  Host& host_;
  Pool& pool_;
  SessionJail jail_;
  uint32_t calls_ = 0;
  uint64_t memory_limit_ = 0;
  LeftUsage remaining_;    // by the last program; memory at the last look since then
  CodePriority priority_;  // between two programs
  bool worked_ = false;
  std::string why_;
  Scope between_;  // tasks that watch the jail while no program runs
};

}  // namespace jail
