// The proposals of staged executions as a part of the daemon. Commits that the last daemon began are completed before
// any client sees a workspace.
#include "supervisor/base/log.h"
#include "supervisor/given_services.h"
#include "supervisor/operations/metrics/text.h"
#include "supervisor/parts.h"
#include "supervisor/tenants/proposals/interrupted_commits.h"
#include "supervisor/tenants/proposals/proposal_stores.h"
#include "supervisor/tenants/tenant.h"

namespace proposals {
namespace {

class ProposalsPart final : public Part, public Beginner, public TenantDataOwner, public Tidier, public MetricSource {
 public:
  ProposalsPart(Loop& loop, WorkerThread& disk, tenants::Registry& registry)
      : disk_(disk), registry_(registry), stores_(loop) {}

  static Result<std::unique_ptr<ProposalsPart>> open(Loop& loop, StateThreads& threads, tenants::Registry& registry) {
    return std::make_unique<ProposalsPart>(loop, *threads.files, registry);
  }
  std::tuple<ProposalStores&> services() { return {stores_}; }

  // A commit that cannot be completed stays as it is until its store is opened.
  Task<Result<>> begin() override {
    auto commits = std::make_shared<InterruptedCommits>();
    WorkerThread* const thread = &disk_;
    const WorkerThread::Job job = [commits, thread, tenants = registry_.directory()]() -> Result<> {
      CommitHooks hooks;
      hooks.must_stop = [thread] { return thread->is_ending(); };
      TRY(*commits, complete_interrupted_commits(tenants, hooks));
      return {};
    };
    const auto searched = co_await disk_.run(job);
    if (!searched) log_error("interrupted commits: {}", searched.error().what);
    for (const Error& error : commits->failed) log_error("an interrupted commit is not completed: {}", error.what);
    if (commits->completed > 0)
      log_notice("{} commits of proposals were interrupted; they are completed", commits->completed);
    co_return Result<>{};
  }

  void close_workspace(const tenants::TenantId& id) override { stores_.forget(id); }
  Task<std::chrono::seconds> tidy() override {
    co_await stores_.tidy();
    co_return std::chrono::seconds::max();
  }

  void write_metrics(metrics::OpenMetricsText& text, Reader) const override {
    const ProposalStores::Totals staged = stores_.totals();
    text.family("warder_proposals_open", "gauge", "",
                "Proposals of staged executions that wait for a commit, of tenants in use since the start.");
    text.sample("", {}, staged.open);
    text.family("warder_proposals_bytes", "gauge", "bytes",
                "What these proposals hold on the disk, with the files that an undo brings back.");
    text.sample("", {}, staged.bytes);
    text.family("warder_proposal_results", "counter", "",
                "What became of proposals: committed, conflict (no change), undone, discarded, expired.");
    text.sample("_total", {{"result", "committed"}}, staged.ended.commits);
    text.sample("_total", {{"result", "conflict"}}, staged.ended.conflicts);
    text.sample("_total", {{"result", "undone"}}, staged.ended.undone);
    text.sample("_total", {{"result", "discarded"}}, staged.ended.discarded);
    text.sample("_total", {{"result", "expired"}}, staged.ended.expired);
  }

 private:
  WorkerThread& disk_;
  tenants::Registry& registry_;
  ProposalStores stores_;
};

}  // namespace

PartEntry part() { return part_entry_of("proposals", ProposalsPart::open); }

}  // namespace proposals
