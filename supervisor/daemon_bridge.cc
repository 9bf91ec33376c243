// The daemon's servers of other tools: opened after the catalogue, whose tools they are.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "supervisor/daemon.h"

void Daemon::open_bridge() {
  bridge::Bridge::Settings settings;
  settings.servers = std::move(prepared_.options.servers);
  settings.definitions = prepared_.bridge.get();
  auto policy = prepared_.policies.find(prepared_.identity.root && prepared_.cgroups ? "system" : "default");
  if (!policy) policy = prepared_.policies.find(prepared_.policies.names().front());
  settings.nobody = {"", policy, -1, prepared_.bridge.get()};
  if (!prepared_.options.servers_skipped.empty())
    log_warning("servers that are neither started by a command nor speak Streamable HTTP were not imported: {}",
                fmt::join(prepared_.options.servers_skipped, ", "));
  if (!settings.servers.empty()) log_info("servers of other tools: {}", settings.servers.size());
  bridge_ = std::make_unique<bridge::Bridge>(*host_, std::move(settings));
  auto catalog_of = [this] { return discovery_->current(); };
  calls_.reset(new tools::CallEnvironment{host_->loop, host_->json, *bridge_, *journal_, catalog_of, vaults_, learning_,
                                          approvals_, spans_ ? &spans_->queue() : nullptr});
  if (bridge_->empty()) return;
  discovery_->add_others([this] { return bridge_->readings(); });
  bridge_->on_change([this] { tasks_.spawn(discovery_->refresh()); });
  tasks_.spawn(discovery_->refresh());
  bridge_->learn();
}
