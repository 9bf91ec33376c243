// The link to warder-egress as an annex of the daemon: hosts by name for jailed code, and for upstream servers in
// jails.
#include "policies/egress_rules.h"
#include "policies/policy_parts.h"
#include "policies/store.h"
#include "supervisor/daemon/configuration/options.h"
#include "supervisor/egress/egress_link.h"
#include "supervisor/egress/network_of_execution.h"
#include "supervisor/egress/network_of_server.h"
#include "supervisor/given_services.h"
#include "supervisor/operations/metrics/text.h"
#include "supervisor/parts.h"

namespace egress {
namespace {

class EgressPart final : public Part, public FindingSource, public MetricSource, public runs::NetworkSource {
 public:
  EgressPart(Loop& loop, std::string socket, WorkerThread& disk, journal::Journal& journal,
             const policies::Store& policies)
      : policies_(policies), link_(loop, std::move(socket), disk), server_network_(loop, link_, journal) {}

  static Result<std::unique_ptr<EgressPart>> open(Loop& loop, Options& options, StateThreads& threads,
                                                  journal::Journal& journal, policies::Store& policies) {
    return std::make_unique<EgressPart>(loop, options.egress_socket, *threads.files, journal, policies);
  }
  std::tuple<runs::NetworkSource&, upstream::ServerNetwork&> services() { return {*this, server_network_}; }

  std::unique_ptr<runs::ExecutionNetwork> open(calls::CallEnvironment& environment,
                                               const calls::CallContext& caller) override {
    return std::make_unique<NetworkOfExecution>(link_, environment, caller);
  }

  // Only if a policy in force has egress rules.
  Task<doctor::Findings> examine() override {
    doctor::EgressReach seen;
    for (const std::string& name : policies_.names()) {
      const auto policy = policies_.find(name);
      if (policy && policies::egress_of(*policy).is_on()) seen.policies.push_back(name);
    }
    if (seen.policies.empty()) co_return doctor::Findings{};
    if (const auto connected = link_.connect(); !connected) {
      seen.trouble = connected.error().what;
      seen.remedy = "install the package warder-egress if it is missing; systemctl enable --now warder-egress.socket";
    }
    const EgressLink::Counts& counts = link_.counts();
    seen.allowed = counts.allowed, seen.denied = counts.denied, seen.failed = counts.failed;
    co_return doctor::Findings{doctor::judge_egress(seen)};
  }

  void write_metrics(metrics::OpenMetricsText& text, Reader) const override {
    const EgressLink::Counts& counts = link_.counts();
    text.family("warder_egress_requests", "counter", "",
                "Requests of jailed code to hosts through the egress proxy, by verdict; failed: the host was not "
                "reached.");
    text.sample("_total", {{"verdict", "allowed"}}, counts.allowed);
    text.sample("_total", {{"verdict", "denied"}}, counts.denied);
    text.sample("_total", {{"verdict", "failed"}}, counts.failed);
    text.family("warder_egress_bytes", "counter", "bytes",
                "Bytes of jailed code through the egress proxy, of ended programs.");
    text.sample("_total", {{"direction", "up"}}, counts.bytes_up);
    text.sample("_total", {{"direction", "down"}}, counts.bytes_down);
  }

 private:
  const policies::Store& policies_;
  EgressLink link_;
  EgressOfServers server_network_;
};

}  // namespace

PartEntry part() { return part_entry_of("egress", EgressPart::open); }

}  // namespace egress
