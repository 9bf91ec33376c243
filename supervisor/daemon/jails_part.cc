// Waiting jails as a part of the daemon: the pool, the connected clients, and the jails that wait for their programs.
#include <unistd.h>

#include <algorithm>

#include "policies/host_capacity.h"
#include "supervisor/daemon/expected_jails.h"
#include "supervisor/operations/bus/members.h"
#include "supervisor/operations/metrics/text.h"
#include "supervisor/parts.h"
#include "supervisor/tenants/tenant.h"
#include "supervisor/tools/operation.h"

namespace {

// An eighth of the machine's memory, at most 1 GiB: waiting jails only save time.
jail::Pool::Limits pool_limits() {
  auto memory = static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  return {std::min<uint64_t>(memory / 8, 1 << 30), static_cast<uint32_t>(policies::HostCapacity::here().cpus)};
}

class JailsPart final : public Part,
                        public ToolSource,
                        public PolicyFollower,
                        public TenantDataOwner,
                        public FindingSource,
                        public MetricSource {
 public:
  JailsPart(jail::Host& host, tenants::Registry& registry)
      : registry_(registry), pool_(host, pool_limits()), expected_(pool_, members_) {}

  static Result<std::unique_ptr<JailsPart>> open(jail::Host& host, tenants::Registry& registry) {
    return std::make_unique<JailsPart>(host, registry);
  }
  std::tuple<jail::Pool&, bus::Members&, ExpectedJails&> services() { return {pool_, members_, expected_}; }

  void add_tools(const tools::OperationRegistry& operations) override { server_ = &operations.server(); }

  // The members have other policies, so that other tools are offered to them and other jails fit them.
  void adopt_policies() override {
    const auto members_with_other_tools = registry_.apply_policies();
    server_->lists_changed(mcp::Changed::tools,
                           [&members_with_other_tools](const std::shared_ptr<mcp::ConnectionUser>& user) {
                             return std::any_of(members_with_other_tools.begin(), members_with_other_tools.end(),
                                                [&](const auto& member) { return member == user; });
                           });
    expected_.replace();
  }
  // Jails wait with the workspace, and forks of the tenant's interpreter wait.
  void close_account(const std::string&) override { expected_.replace(); }

  Task<doctor::Findings> examine() override {
    uint32_t waiting = 0, zygotes = 0;
    for (const auto& [language, stock] : pool_.stock()) {
      waiting += stock.jails;
      zygotes += stock.zygotes;
    }
    co_return doctor::Findings{doctor::judge_pool(waiting, zygotes, pool_.troubles())};
  }

  void write_metrics(metrics::OpenMetricsText& text, Reader) const override {
    const auto stocks = pool_.stock();
    text.family("warder_pool_limits", "gauge", "",
                "The fewest and the most waiting jails that policies allow, by language.");
    for (const auto& [language, stock] : stocks) {
      text.sample("", {{"language", jail::language_name(language)}, {"bound", "min"}}, stock.fewest);
      text.sample("", {{"language", jail::language_name(language)}, {"bound", "max"}}, stock.max);
    }
    text.family("warder_pool_starting", "gauge", "", "Jails that are being built in advance, by language.");
    for (const auto& [language, stock] : stocks)
      text.sample("", {{"language", jail::language_name(language)}}, stock.starting);
  }

 private:
  tenants::Registry& registry_;
  mcp::Server* server_ = nullptr;  // set before the first client
  jail::Pool pool_;
  bus::Members members_;
  ExpectedJails expected_;
};

}  // namespace

PartEntry jails_part() { return part_entry_of("waiting jails", JailsPart::open); }
