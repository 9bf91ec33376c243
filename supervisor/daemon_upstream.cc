// The daemon's upstream servers. They are opened after the catalog, because they add their tools to it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "supervisor/daemon.h"

void Daemon::open_upstream() {
  upstream::UpstreamServers::Settings settings;
  settings.servers = std::move(prepared_.options.servers);
  settings.definitions = prepared_.upstream.get();
  auto policy = prepared_.policies.find(prepared_.identity.root && prepared_.cgroups ? "system" : "default");
  if (!policy) policy = prepared_.policies.find(prepared_.policies.names().front());
  settings.nobody = {"", policy, -1, prepared_.upstream.get()};
  if (!prepared_.options.servers_skipped.empty())
    log_warning("not imported, because they neither have a command nor speak Streamable HTTP: servers {}",
                fmt::join(prepared_.options.servers_skipped, ", "));
  if (!settings.servers.empty()) log_info("upstream servers: {}", settings.servers.size());
  upstream_ = std::make_unique<upstream::UpstreamServers>(*host_, std::move(settings));
  auto catalog_of = [this] { return discovery_->current(); };
  calls_.reset(new calls::CallEnvironment{host_->loop, host_->json, *upstream_, *journal_, catalog_of, vaults_,
                                          learning_, approvals_, spans_ ? &spans_->queue() : nullptr});
  if (upstream_->empty()) return;
  discovery_->add_others([this] { return upstream_->readings(); });
  upstream_->on_change([this] { tasks_.spawn(discovery_->refresh()); });
  tasks_.spawn(discovery_->refresh());
  upstream_->learn();
}
