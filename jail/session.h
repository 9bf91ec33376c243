// Session: one jail that runs program after program in one interpreter, and is kept still in between: frozen by its
// cgroup; where there is none, watched, and ended when it goes on working.
// Source: supervisor/tools/sessions.cc. Whatever ends a program otherwise than by its own answer ends the session.
#pragma once
#include <memory>
#include <string>

#include "jail/execution.h"

namespace jail {

class Session {
 public:
  // Both must outlive the session.
  Session(Host& host, Pool& pool) : host_(host), pool_(pool), between_(host.loop) {}
  ~Session();

  // Runs the next program, one at a time; the first one decides about the jail. Destroying the task ends the session.
  // Errors: of the first, as execute(); later ones: the session is over.
  Task<Result<Report>> run(Request request);

  // Between two programs: whether there can be a next one.
  bool alive() const { return kept_.jail != nullptr; }
  // Why not, when it ended between two programs; empty when it ended with one.
  const std::string& why() const { return why_; }
  // Ends it, between two programs.
  void end(std::string why);

  uint32_t calls() const { return calls_; }
  bool frozen() const { return alive() && kept_.jail->cgroup(); }
  uint64_t memory_bytes() const;  // what it holds between two programs
  // Whether it has worked since its last program; what it may have written is not accounted for.
  bool has_worked() const { return worked_; }

 private:
  void rest();
  Task<> watch_end();
  Task<> watch_work();
  Host& host_;
  Pool& pool_;
  Kept kept_;
  uint32_t calls_ = 0;
  uint64_t memory_limit_ = 0;
  bool worked_ = false;
  std::string why_;
  Scope between_;  // last: what watches while no program runs
};

}  // namespace jail
