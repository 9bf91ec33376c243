// ProposalFolder: one staging folder on the disk, and all that happens with it: settled after the execution, read again
// after a restart, compared, committed, undone. The files below tenants/<name>/staging/<id>/:
//   l/, u/, w/   mount point of the lower layer, upper and work folder of the overlay; after a commit, u/ has the files
//   that were replaced proposal     the record, once the execution has ended; a folder without it is removed at the
//   next start steps.N      the steps that are left after N commits journal.N    the journal of commit N old/, made/
//   files that a commit removed; folders that a commit made
// Source: proposal_store.cc, on its worker thread; every call waits for the disk. Errors: those of base/path.h;
// invalid or unavailable with a remedy.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/base/fd.h"
#include "supervisor/tenants/proposals/commit.h"
#include "supervisor/tenants/proposals/proposal.h"
#include "supervisor/tenants/proposals/proposal_record.h"

namespace proposals {

// StagedUsage: what a folder holds. Whiteouts count as files.
struct StagedUsage {
  uint64_t bytes = 0, files = 0;
  bool is_complete = true;  // false: it has more than kMaxEntries entries, or folders that cannot be read
};
// `path`: a folder below `root`; "" is `root` itself.
StagedUsage measure_below(int root, const std::string& path);

class ProposalFolder {
 public:
  // `staging`: the folder of all staging folders. It and `workspace` must stay open. Errors: not_found.
  static Result<ProposalFolder> open(int staging, int workspace, const std::string& id);

  // Reads the upper folder of an execution that has ended, and writes the record. A proposal in the state `none` has no
  // record. The overlay must not be mounted any longer.
  Result<Proposal> settle(ProposalAbout about, BaseChanges base_changes, int64_t settled_ms, int64_t recorded_ms);
  // Completes a commit or an undo that was interrupted, then reads the record. A damaged record, journal or list of
  // steps makes a proposal in the state `damaged`. nullopt: the folder has no record.
  Result<std::optional<Proposal>> load(const CommitHooks& hooks = {});
  // The unified diff of the steps that are left, or of the last commit (text_diff.h). Errors: also invalid, the records
  // are damaged; unavailable, the daemon ends.
  Result<std::string> diff(size_t max_bytes, const CommitHooks& hooks = {});
  // Commits the steps at or below `paths`, or all steps for no paths. Errors: invalid, wrong paths, or no steps are
  // left; unavailable, the daemon ends, or the disk has lost staged files.
  Result<CommitReport> commit(const std::vector<std::string>& paths, const CommitHooks& hooks = {});
  // Forgets the steps that are left; commits stay, and can be undone. Errors: invalid, there is no commit.
  Result<Proposal> discard_rest(const CommitHooks& hooks = {});
  // Takes the last commit back. Errors: invalid, there is none; unavailable, the daemon ends.
  Result<UndoReport> undo(const CommitHooks& hooks = {});

  int directory() const { return directory_.get(); }

 private:
  ProposalFolder(std::string id, Fd directory, int workspace)
      : id_(std::move(id)), directory_(std::move(directory)), workspace_(workspace) {}
  struct Contents;
  Result<Contents> read_journals(const CommitHooks& hooks);
  Result<> read_records(Contents& contents);
  Result<Contents> read_all(const CommitHooks& hooks);
  Result<StagedFiles> remaining_files(const std::vector<StagedStep>& steps);
  Proposal summary(const Contents& contents);
  CommitTarget target() const { return {directory_.get(), workspace_}; }

  std::string id_;
  Fd directory_;
  int workspace_;
};

}  // namespace proposals
