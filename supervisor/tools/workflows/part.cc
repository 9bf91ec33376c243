// Workflows of jailed code as an annex of the daemon: their store, the calls of their steps, and their resources.
#include "supervisor/parts.h"
#include "supervisor/records/disk/state_disk.h"
#include "supervisor/tools/operation.h"
#include "supervisor/tools/workflows/step_calls.h"
#include "supervisor/tools/workflows/workflow_resources.h"
#include "supervisor/tools/workspace/resource_deleter.h"

namespace tools {
namespace {

class WorkflowsPart final : public Part, public ToolSource, public Tidier, public ResourceDeleter {
 public:
  explicit WorkflowsPart(workflows::WorkflowDisk& disk) : store_(disk) {}

  static Result<std::unique_ptr<WorkflowsPart>> open(workflows::WorkflowDisk& disk, StateDisk& state_disk) {
    auto part = std::make_unique<WorkflowsPart>(disk);
    part->store_.refuse_steps([&state_disk] { return state_disk.refusal("no step can be recorded now"); });
    return part;
  }
  std::tuple<ResourceDeleter&> services() { return {*this}; }

  void add_tools(const OperationRegistry& operations) override {
    add_step_calls(operations.guest_calls(), store_);
    operations.server().add_resources(workflow_resources(operations.requester_of(), store_));
  }
  Task<std::chrono::seconds> tidy() override {
    co_await store_.tidy();
    co_return std::chrono::seconds::max();
  }
  Task<Result<Json>> remove(const tenants::Requester& requester, std::string uri) override {
    return delete_workflow(store_, requester, std::move(uri));
  }

 private:
  workflows::WorkflowStore store_;
};

}  // namespace

PartEntry workflows_part() { return part_entry_of("workflows", WorkflowsPart::open); }

}  // namespace tools
