// commit_workspace and proposals as resources, as a part of the daemon.
#include "supervisor/parts.h"
#include "supervisor/tools/proposals/commit_workspace.h"
#include "supervisor/tools/proposals/proposal_resources.h"

namespace tools {
namespace {

class ProposalToolsPart final : public Part, public ToolSource {
 public:
  ProposalToolsPart(calls::CallEnvironment& calls, proposals::ProposalStores& stores)
      : calls_(calls), stores_(stores) {}

  static Result<std::unique_ptr<ProposalToolsPart>> open(calls::CallEnvironment& calls,
                                                         proposals::ProposalStores& stores) {
    return std::make_unique<ProposalToolsPart>(calls, stores);
  }
  void add_tools(const OperationRegistry& operations) override {
    add_commit_workspace(operations, calls_, stores_);
    operations.server().add_resources(proposal_resources(operations.requester_of(), stores_));
  }

 private:
  calls::CallEnvironment& calls_;
  proposals::ProposalStores& stores_;
};

}  // namespace

PartEntry proposals_part() { return part_entry_of("proposal tools", ProposalToolsPart::open); }

}  // namespace tools
