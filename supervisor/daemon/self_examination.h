// SelfExamination: the checks of `warder doctor`, made inside the daemon's unit. Clients are served meanwhile: one step
// takes milliseconds, and the test program is an ordinary execution.
// Source: the daemon's parts. Used by: D-Bus (RunDoctor). Errors: exhausted: another examination runs.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>

#include "jail/host.h"
#include "jail/pool/pool.h"
#include "supervisor/base/worker_thread.h"
#include "supervisor/daemon/prepared.h"
#include "supervisor/daemon/state_disk.h"
#include "supervisor/egress/egress_link.h"
#include "supervisor/operations/doctor/doctor.h"
#include "supervisor/records/journal/journal.h"
#include "supervisor/records/traces/exporter.h"
#include "supervisor/tenants/index/workspace_index.h"

class SelfExamination {
 public:
  struct Subjects {  // must outlive the examination
    jail::Host& host;
    const Prepared& prepared;
    WorkerThread& policy_thread;  // of read_configuration()
    const jail::Pool& pool;
    const journal::Journal& journal;
    const StateDisk& state_disk;
    const tenants::IndexHost& indexes;
    egress::EgressLink& egress;
    const traces::Exporter* spans;  // nullptr: no spans are recorded
    std::function<doctor::HttpUse()> http_use;
    std::function<Task<doctor::Findings>()> cluster;  // none without a cluster
  };
  explicit SelfExamination(const Subjects& subjects) : parts_(subjects) {}
  SelfExamination(const SelfExamination&) = delete;

  Task<Result<doctor::Findings>> run();

 private:
  Task<doctor::Finding> try_execution();
  Task<doctor::Findings> judge_files();
  doctor::Finding judge_cgroups() const;
  doctor::Finding judge_own_user() const;
  doctor::Finding judge_pool() const;
  doctor::Finding judge_journal() const;
  doctor::Finding judge_state_disk() const;
  doctor::Finding judge_workspaces() const;
  // Only if a policy in force stages workspaces.
  std::optional<doctor::Finding> judge_staging() const;
  // Only if a policy in force has egress rules.
  std::optional<doctor::Finding> judge_egress() const;
  doctor::Finding judge_traces() const;  // only if spans are recorded

  Subjects parts_;
  bool running_ = false;
  uint64_t runs_ = 0;
};
