// DaemonParts on D-Bus: what the service there shows and controls.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "supervisor/daemon/daemon_parts.h"

namespace {

bus::UpstreamServices upstream_services(upstream::UpstreamServers& upstream) {
  return {
      .statuses = [&upstream] { return upstream.statuses(); },
      .test = [&upstream](std::string name,
                          std::string tenant) { return upstream.test(std::move(name), std::move(tenant)); },
  };
}

bus::LoginServices login_services(upstream::UpstreamServers& upstream) {
  return {
      .is_shared = [&upstream](const std::string& server) { return upstream.is_login_shared(server); },
      .begin =
          [&upstream](std::string server, std::string owner, std::string redirect, std::vector<std::string> scopes) {
            return upstream.begin_login(std::move(server), std::move(owner), std::move(redirect), std::move(scopes));
          },
      .finish =
          [&upstream](std::string server, std::string owner, std::string id, std::string redirected) {
            return upstream.finish_login(std::move(server), std::move(owner), std::move(id), std::move(redirected));
          },
      .log_out = [&upstream](std::string server,
                             std::string owner) { return upstream.log_out(std::move(server), std::move(owner)); },
  };
}

}  // namespace

std::unique_ptr<bus::Service> DaemonParts::make_bus() {
  if (prepared_.options.bus == "off") return nullptr;
  return std::make_unique<bus::Service>(bus_services(), prepared_.options.bus);
}

bus::DaemonServices DaemonParts::bus_services() {
  bus::ConfigurationView configuration{
      .main_file = files_in_force().main,
      .state_folder = files_in_force().state,
      .policy_folders = [this] { return prepared_.options.policies; },
      .problem =
          [this] {
            const auto& notes = prepared_.configuration.notes;
            auto lines = notes.problems;
            for (auto& text : configuration::texts_of(notes.shortfalls)) lines.push_back(std::move(text));
            return fmt::format("{}", fmt::join(lines, "\n"));
          },
  };
  bus::DaemonHealth health{
      .is_draining = controls_.draining,
      .is_degraded =
          [this] { return prepared_.configuration.degraded() || prepared_.configuration.falls_short() || host_.unfit; },
      .disk_problem = [this] { return state_disk_.trouble() ? state_disk_.trouble()->what : std::string(); },
      .examine = [this] { return examination_.run(); },
  };
  bus::TenantServices tenants{
      .sessions_of = [this](const std::string& tenant) { return sessions_.count_of(tenant); },
      .forget_searches = [this](const std::string& tenant) { learning_.forget(tenant); },
      .remove = [this](std::string name, tenants::RemovalForce force,
                       uint32_t uid) { return removal_.remove(std::move(name), force, uid); },
  };
  return {
      .loop = loop_,
      .executions = executions_,
      .recent_code = recent_code_,
      .approvals = approvals_,
      .timeline = timeline_,
      .pool = pool_,
      .registry = registry_,
      .proposals = proposals_,
      .journal = journal_,
      .members = members_,
      .policies = prepared_.policies,
      .own_uid = prepared_.identity.uid,
      .configuration = std::move(configuration),
      .health = std::move(health),
      .commands = {.reload = controls_.reload, .drain = controls_.drain},
      .tenants = std::move(tenants),
      .upstream = upstream_services(upstream_),
      .logins = login_services(upstream_),
      .cluster = cluster_.services(),
  };
}
