// Steps of workflows as calls of jailed code, and workflows as resources, as a part of the daemon.
#include "supervisor/parts.h"
#include "supervisor/tools/operation.h"
#include "supervisor/tools/workflows/step_calls.h"
#include "supervisor/tools/workflows/workflow_resources.h"

namespace tools {
namespace {

class WorkflowToolsPart final : public Part, public ToolSource {
 public:
  explicit WorkflowToolsPart(workflows::WorkflowStore& workflows) : workflows_(workflows) {}

  static Result<std::unique_ptr<WorkflowToolsPart>> open(workflows::WorkflowStore& workflows) {
    return std::make_unique<WorkflowToolsPart>(workflows);
  }
  void add_tools(const OperationRegistry& operations) override {
    add_step_calls(operations.guest_calls(), workflows_);
    operations.server().add_resources(workflow_resources(operations.requester_of(), workflows_));
  }

 private:
  workflows::WorkflowStore& workflows_;
};

}  // namespace

PartEntry workflows_part() { return part_entry_of("workflow tools", WorkflowToolsPart::open); }

}  // namespace tools
