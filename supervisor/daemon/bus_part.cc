// D-Bus as a part of the daemon: what the service there shows and controls.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "supervisor/daemon/configuration/files_in_force.h"
#include "supervisor/daemon/self_examination.h"
#include "supervisor/daemon/tenant_removal.h"
#include "supervisor/daemon_controls.h"
#include "supervisor/operations/bus/service.h"
#include "supervisor/parts.h"

namespace {

bus::ConfigurationView configuration_view(const Prepared& prepared) {
  const auto files = configuration::files_of(prepared.configuration.invocation, prepared.options);
  return {
      .main_file = files.main,
      .state_folder = files.state,
      .policy_folders = [&prepared] { return prepared.options.policies; },
      .problem =
          [&prepared] {
            const auto& notes = prepared.configuration.notes;
            auto lines = notes.problems;
            for (auto& text : configuration::texts_of(notes.shortfalls)) lines.push_back(std::move(text));
            return fmt::format("{}", fmt::join(lines, "\n"));
          },
  };
}

bus::DaemonHealth health_services(const Prepared& prepared, const jail::Host& host, const DaemonControls& controls,
                                  SelfExamination& examination) {
  return {
      .is_draining = controls.draining,
      .is_degraded =
          [&prepared, &host] {
            return prepared.configuration.degraded() || prepared.configuration.falls_short() || host.unfit;
          },
      .examine = [&examination] { return examination.run(); },
  };
}

bus::TenantServices tenant_services(const executions::Sessions& sessions, TenantRemoval& removal) {
  return {
      .sessions_of = [&sessions](const std::string& tenant) { return sessions.count_of(tenant); },
      .remove = [&removal](std::string name, tenants::RemovalForce force,
                           uint32_t uid) { return removal.remove(std::move(name), force, uid); },
  };
}

class BusPart final : public Part, public Opener, public ReloadObserver {
 public:
  BusPart(bus::DaemonServices services, const std::string& where) : service_(std::move(services), where) {}

  Result<> serve() override {
    service_.start();
    return {};
  }
  void reloaded(const std::string& problem) override { service_.reloaded(problem); }

 private:
  bus::Service service_;
};

Result<std::unique_ptr<Part>> open_bus(Loop& loop, Prepared& prepared, jail::Host& host, DaemonControls& controls,
                                       executions::ExecutionRegistry& executions, executions::RecentCode& recent_code,
                                       calls::Approvals& approvals, executions::TimelineRecorder& timeline,
                                       jail::Pool& pool, tenants::Registry& registry,
                                       proposals::ProposalStores& proposals, journal::Journal& journal,
                                       bus::Members& members, SelfExamination& examination,
                                       executions::Sessions& sessions, TenantRemoval& removal, Parts& all) {
  if (prepared.options.bus == "off") return std::make_unique<Part>();
  bus::DaemonServices services{
      .loop = loop,
      .executions = executions,
      .recent_code = recent_code,
      .approvals = approvals,
      .timeline = timeline,
      .pool = pool,
      .registry = registry,
      .proposals = proposals,
      .journal = journal,
      .members = members,
      .policies = prepared.policies,
      .own_uid = prepared.identity.uid,
      .configuration = configuration_view(prepared),
      .health = health_services(prepared, host, controls, examination),
      .commands = {.reload = controls.reload, .drain = controls.drain},
      .tenants = tenant_services(sessions, removal),
      .members_of_rooms = {},
  };
  for (BusSource* part : all.all<BusSource>()) part->add_bus_members(services.members_of_rooms);
  return std::make_unique<BusPart>(std::move(services), prepared.options.bus);
}

}  // namespace

PartEntry bus_part() { return part_entry_of("D-Bus", open_bus); }
