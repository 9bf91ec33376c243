// The tenants, their workspaces' indexes and quotas, as a part of the daemon.
#include "jail/host.h"
#include "policies/store.h"
#include "supervisor/given_services.h"
#include "supervisor/operations/metrics/text.h"
#include "supervisor/parts.h"
#include "supervisor/tenants/index/workspace_index.h"
#include "supervisor/tenants/kernel_quota.h"
#include "supervisor/tenants/tenant.h"

namespace tenants {
namespace {

class TenantsPart final : public Part, public Tidier, public Drainer, public FindingSource, public MetricSource {
 public:
  TenantsPart(jail::Host& host, std::unique_ptr<IndexHost> indexes, Registry registry)
      : indexes_(std::move(indexes)), registry_(std::move(registry)), tasks_(host.loop) {
    registry_.on_quota([this, &host](std::shared_ptr<Tenant> tenant) {
      tasks_.spawn(hold_quota_by_kernel(host.jailer, std::move(tenant)));
    });
  }

  static Result<std::unique_ptr<TenantsPart>> open(jail::Host& host, StateFolder& state, policies::Store& policies) {
    TRY(auto indexes, IndexHost::start(host.loop));
    TRY(Registry registry, Registry::open(host.loop, state.tenants, policies, indexes.get()));
    return std::make_unique<TenantsPart>(host, std::move(indexes), std::move(registry));
  }
  std::tuple<Registry&> services() { return {registry_}; }

  Task<std::chrono::seconds> tidy() override { return registry_.expire_workspaces(); }
  void disconnect() override { tasks_.cancel_all(); }

  Task<doctor::Findings> examine() override {
    const IndexHost::Totals totals = indexes_->totals();
    co_return doctor::Findings{
        doctor::judge_workspaces({totals.indexes, totals.without, totals.without_why, totals.watches, totals.walks})};
  }

  void write_metrics(metrics::OpenMetricsText& text, Reader) const override {
    const QuotaRefusals refused = quota_refusals();
    text.family("warder_quota_refusals", "counter", "",
                "Writes of the daemon into workspaces that a quota refused, by limit; those of jailed code have the "
                "outcome disk.");
    text.sample("_total", {{"limit", "bytes"}}, refused.bytes);
    text.sample("_total", {{"limit", "files"}}, refused.files);
    const IndexHost::Totals indexes = indexes_->totals();
    text.family("warder_workspace_indexes", "gauge", "",
                "Workspaces in use, by whether an index follows them or they are walked through for each execution.");
    text.sample("", {{"state", "followed"}}, indexes.indexes);
    text.sample("", {{"state", "walked"}}, indexes.without);
    text.family("warder_workspace_index_files", "gauge", "", "Files and folders in these indexes.");
    text.sample("", {}, indexes.files);
    text.family("warder_workspace_index_watches", "gauge", "", "Folders that inotify watches for these indexes.");
    text.sample("", {}, indexes.watches);
    text.family("warder_workspace_index_walks", "counter", "",
                "Looks that had to list all folders again: too many changes at once, or too few watches.");
    text.sample("_total", {}, indexes.walks);
  }

 private:
  std::unique_ptr<IndexHost> indexes_;
  Registry registry_;
  Scope tasks_;  // last: cancelled first
};

}  // namespace

PartEntry part() { return part_entry_of("tenants", TenantsPart::open); }

}  // namespace tenants
