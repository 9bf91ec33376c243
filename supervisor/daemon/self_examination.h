// SelfExamination: the checks of `warder doctor`, made inside the daemon's unit. Clients are served meanwhile: one step
// takes milliseconds, and the test program is an ordinary execution.
// Source: the machine, and all parts that have findings. Used by: D-Bus (RunDoctor). Errors: exhausted: another
// examination runs.
#pragma once
#include <cstdint>
#include <optional>

#include "jail/host.h"
#include "supervisor/base/worker_thread.h"
#include "supervisor/daemon/prepared.h"
#include "supervisor/given_services.h"
#include "supervisor/operations/doctor/doctor.h"
#include "supervisor/parts.h"

class SelfExamination final : public Part {
 public:
  // All must outlive the examination. `thread`: of read_configuration().
  SelfExamination(const Parts& parts, jail::Host& host, const Prepared& prepared, WorkerThread& thread)
      : parts_(parts), host_(host), prepared_(prepared), thread_(thread) {}
  static Result<std::unique_ptr<SelfExamination>> open(Parts& parts, jail::Host& host, Prepared& prepared,
                                                       StateThreads& threads);
  std::tuple<SelfExamination&> services() { return {*this}; }

  Task<Result<doctor::Findings>> run();

 private:
  Task<doctor::Finding> try_execution();
  Task<doctor::Findings> judge_files();
  doctor::Finding judge_cgroups() const;
  doctor::Finding judge_own_user() const;
  // Only if a policy in force stages workspaces.
  std::optional<doctor::Finding> judge_staging() const;

  const Parts& parts_;
  jail::Host& host_;
  const Prepared& prepared_;
  WorkerThread& thread_;
  bool running_ = false;
  uint64_t runs_ = 0;
};
