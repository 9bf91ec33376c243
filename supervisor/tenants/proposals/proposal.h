// Proposal: what one execution wants to change in its workspace, until a commit or the end of the proposal. It is what
// answers, resources and D-Bus show. Source: proposal_folder.h. Used by: proposal_store.h and its users. No errors.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "supervisor/tenants/proposals/conflicts.h"
#include "supervisor/tenants/proposals/file_changes.h"

namespace proposals {

enum class ProposalState : uint8_t {
  none,       // the execution changed no file: there is no proposal
  open,       // some changes can still be committed
  committed,  // can be undone
  discarded,  // its files are gone
  undone,     // its commits were taken back
  damaged,    // its records cannot be read: it can only be discarded
};
std::string_view state_name(ProposalState state);

// The execution that made a proposal.
struct ProposalAbout {
  std::string execution;  // its id
  std::string language;
  int64_t requested_ms = 0;  // since 1970
};

struct Proposal {
  std::string id;  // "p" and 16 hexadecimal digits
  ProposalState state = ProposalState::none;
  ProposalAbout about;
  int64_t settled_ms = 0;            // since 1970: when the execution had ended
  int64_t recorded_ms = 0;           // the same as retention time (base/elapsed_clock.h)
  StagedFiles files;                 // that a commit would change now; of a proposal that is not open: that it had
  std::vector<std::string> refused;  // FIFOs, sockets, devices: deleted, never committed; valid UTF-8
  uint64_t refused_count = 0;        // `refused` may have fewer
  PathConflicts conflicts;           // known when the execution had ended; a commit may find others
  uint64_t entries = 0;              // in the staging folder when the execution had ended
  uint64_t bytes = 0;                // that the staging folder costs now
  std::string problem;               // why the proposal can only be discarded; empty: it can be committed
  int64_t committed_ms = 0;          // since 1970: the last commit that can be undone; 0: there is none
  unsigned commits = 0;              // that can be undone, the last one first
  std::string undo_problem;          // why a commit of it cannot be undone, or could not be; empty: it can
};

struct CommitReport {
  bool is_committed = false;  // false: `conflicts` says why, and the workspace is as before
  uint64_t steps = 0;         // of this commit
  PathConflicts conflicts;
  Proposal proposal;  // afterwards
};

struct UndoReport {
  bool is_undone = false;  // false: `conflicts` says why, and the workspace is as before
  uint64_t steps = 0;
  PathConflicts conflicts;
  Proposal proposal;  // afterwards
};

}  // namespace proposals
