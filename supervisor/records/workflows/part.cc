// The workflows of tenants, with the journal's rows of their steps, as a part of the daemon.
#include "supervisor/parts.h"
#include "supervisor/records/journal/workflow_rows.h"
#include "supervisor/records/workflows/workflow_store.h"

namespace workflows {
namespace {

class WorkflowsPart final : public Part, public TenantDataOwner, public Tidier {
 public:
  explicit WorkflowsPart(journal::Journal& journal) : rows_(journal), store_(rows_) {}

  static Result<std::unique_ptr<WorkflowsPart>> open(journal::Journal& journal) {
    return std::make_unique<WorkflowsPart>(journal);
  }
  std::tuple<WorkflowStore&> services() { return {store_}; }

  void forget(const tenants::TenantId& id) override { store_.forget(id.text()); }
  Task<std::chrono::seconds> tidy() override {
    co_await store_.tidy();
    co_return std::chrono::seconds::max();
  }

 private:
  journal::WorkflowRows rows_;
  WorkflowStore store_;
};

}  // namespace

PartEntry part() { return part_entry_of("workflows", WorkflowsPart::open); }

}  // namespace workflows
