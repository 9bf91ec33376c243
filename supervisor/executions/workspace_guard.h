// WorkspaceGuard: the workspace of a tenant around one execution in it.
//   admit()   counts the files, and refuses the execution where no program may run
//   begin()   looks at the files beside the start of the jail, and counts them again and again while the program runs
//   finish()  says what the program changed, and whether it ran out of space
// A program that writes more than the quota allows is ended (is_over_quota), also where the bytes are in files without
// a name that a jail of the tenant holds (account_of()), and the bytes that it wrote between two
// counts are judged by finish(). In a workspace over its quota, programs may delete: they can write no
// byte more, and are compared with the size that was there. Where the workspace has more than twice as many files as
// the quota allows, or cannot be counted, no program runs until files are deleted. The kernel's project quota, where
// there is one, applies as well (tenants/project.h). A staged program writes into its staging folder: the files there
// are counted, and finish() makes a proposal of them (staged_workspace.h); of a session's, when the session is over
// (session_staging.h). Used by: runs/code_execution.h. Errors: exhausted, with the rule, the numbers and the
// remedy.
#pragma once
#include <memory>
#include <optional>

#include "supervisor/base/loop.h"
#include "supervisor/executions/session_staging.h"
#include "supervisor/executions/staged_workspace.h"
#include "supervisor/tenants/workspace.h"

namespace jail {
struct Report;
}

namespace tenants {
class Tenant;
}

namespace executions {

// What one execution did to its workspace.
struct WorkspaceEffects {
  std::optional<tenants::Changes> changes;      // nullopt: not known, as the workspace could not be looked at
  tenants::Changes meanwhile;                   // while another execution ran: of this one, or of that one
  bool peers_wrote = false;                     // `meanwhile` is not known, and `changes` may have others' changes, too
  std::optional<Error> quota;                   // the advice for the outcome `disk`, if the quota caused it
  uint64_t read_tokens = 0;                     // estimated from the bytes that the program read
  std::optional<proposals::Proposal> proposal;  // of a staged workspace; nullopt: no file was changed
  std::optional<Error> lost;                    // the error that lost a staged program's changes
  std::optional<proposals::StagedUsage> staged;  // of a session that continues: its changes so far
};

class WorkspaceGuard {
 public:
  enum class Room {
    enough,  // for files as large as the policy allows
    cut,     // less is left: file_bytes() is smaller than the policy's limit
    none,    // the workspace is over its quota: programs may delete, and not write
  };

  // The loop must outlive the guard.
  WorkspaceGuard(Loop& loop, std::shared_ptr<tenants::Tenant> tenant) : loop_(loop), tenant_(std::move(tenant)) {}
  // The files of a cancelled execution count at the next look.
  ~WorkspaceGuard();
  WorkspaceGuard(const WorkspaceGuard&) = delete;

  // The program gets the workspace staged. Before admit().
  void stage(std::shared_ptr<proposals::ProposalStore> store) { staged_.emplace(loop_, std::move(store)); }
  void stage(std::shared_ptr<SessionStaging> session) { session_ = std::move(session); }
  bool is_staged() const { return staged_ || session_; }
  // nullptr: not staged, or staged for a session.
  StagedWorkspace* staged() { return staged_ ? &*staged_ : nullptr; }

  // `file_bytes`: the policy's limit of one file.
  Task<Result<>> admit(uint64_t file_bytes);
  Room room() const { return room_; }
  // The limit of one file. Less than the policy's where `room` is cut: what lets a program write on in the largest file
  // that is there, and a little for /tmp; 1 byte where it is none.
  uint64_t file_bytes() const { return file_bytes_; }
  // The refusal of a program with limits that cannot be cut, where `room` is Room::none.
  Error full() const;

  void begin();
  // Await it before the program gets its code: later, the look would find the program's own files.
  Task<> started();
  bool is_over_quota() const { return is_over_quota_; }

  // Call it once, after the program has ended. Corrects `report`: its outcome where it ran out of space, and the bytes
  // that it says it has read.
  Task<WorkspaceEffects> finish(jail::Report& report, proposals::ProposalAbout about);

 private:
  const tenants::QuotaLimits& unnamed() const;
  bool is_over(const tenants::Usage& usage) const;
  bool is_over(const proposals::StagedUsage& usage) const;
  Task<bool> is_quota_exceeded();
  Task<Result<proposals::StagedUsage>> measure_staged();
  Task<> finish_session(const jail::Report& report, WorkspaceEffects& effects);
  Task<> settle(proposals::ProposalAbout about, tenants::Changes changes, int64_t started_ns,
                WorkspaceEffects& effects);
  Task<> check_before();
  Task<> watch_quota();
  std::optional<Error> judge(jail::Report& report) const;

  Loop& loop_;
  std::shared_ptr<tenants::Tenant> tenant_;
  Room room_ = Room::enough;
  uint64_t file_bytes_ = 0;
  // Both with the files without a name that jails of the tenant hold.
  tenants::QuotaLimits max_;         // the quota, or the size at the beginning, if larger
  tenants::QuotaLimits max_staged_;  // of a staged workspace: the room at the beginning
  bool is_over_quota_ = false;
  std::optional<Error> refusal_;  // as long as the program ran: files without a name are gone with it
  bool is_finished_ = false;
  std::optional<tenants::WorkspaceBefore> before_;
  std::optional<StagedWorkspace> staged_;
  std::shared_ptr<SessionStaging> session_;    // in place of staged_
  std::optional<Started<void>> look_, watch_;  // last: they use the members above
};

}  // namespace executions
