// ProposalRecord: the files `proposal` and `steps.N` of a staging folder. `proposal` is written once, when the
// execution has ended. `steps.N` has the steps that are left after N commits; no file: no steps are left.
// Source: proposal_folder.cc, which is the only user. Errors: invalid, a record that is damaged; those of base/path.h.
#pragma once
#include <string>
#include <vector>

#include "supervisor/tenants/proposals/proposal.h"
#include "supervisor/tenants/proposals/record_lines.h"

namespace proposals {

struct ProposalRecord {
  Proposal proposal;  // without what changes later: state, commits
  BaseChanges base_changes;
};

constexpr char kProposalRecord[] = "proposal";

bool is_proposal_id(std::string_view id);
Result<> write_proposal(int staging, const ProposalRecord& record);
// `id`: of the folder; a record of another proposal is damaged.
Result<ProposalRecord> read_proposal(int staging, const std::string& id);

Result<> write_steps(int staging, unsigned number, const std::vector<StagedStep>& steps, RecordSync sync);
Result<std::vector<StagedStep>> read_steps(int staging, unsigned number);
Result<> forget_steps(int staging, unsigned number);

}  // namespace proposals
