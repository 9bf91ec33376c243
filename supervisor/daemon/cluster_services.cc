// The cluster on D-Bus, and the daemon as its member (../cluster/link/membership.h).
#include "supervisor/daemon/daemon_parts.h"

namespace {

template <class Page>
Task<Result<Page>> without_cluster() {
  co_return fail(Code::unavailable,
                 "this machine is in no cluster: the configuration of warderd has no key \"cluster\"",
                 "make one with warder cluster init, or join one: warder cluster join");
}

}  // namespace

Result<> DaemonParts::join_cluster() {
  const ClusterOptions& options = prepared_.options.cluster;
  if (options.socket.empty()) return {};
  // Programs of shared workspaces must end before another node may take the workspaces over.
  auto end_shared = [this] {
    disconnect_if([](const std::shared_ptr<mcp::ConnectionUser>& user) {
      return tenants::member_of(user).policy->cluster.is_home_shared;
    });
  };
  cluster_ = std::make_unique<cluster::Membership>(loop_, host_.json, host_.shares, options.socket, server_,
                                                   std::move(end_shared));
  server_.set_elsewhere(cluster_->away());
  cluster_->link().tell_load_of([this] {
    return cluster::NodeLoad{admission_.running(), static_cast<uint32_t>(admission_.waiting()),
                             admission_.most_in_all(), controls_.draining()};
  });
  admission_.on_change([this] {
    if (cluster_) cluster_->link().load_changed();
  });
  return {};
}

void DaemonParts::offer_cluster(bus::DaemonServices& services) {
  services.cluster.standing = [this] { return cluster_ ? cluster_->link().standing() : cluster::Standing::no_cluster; };
  services.cluster.self = [this] { return cluster_ ? cluster_->link().node() : std::string(); };
  services.cluster.nodes_after = [this](std::string after) {
    return cluster_ ? cluster_->link().nodes_after(std::move(after)) : without_cluster<cluster::NodePage>();
  };
  services.cluster.homes = [this](cluster::HomeQuestion question) {
    return cluster_ ? cluster_->link().homes(std::move(question)) : without_cluster<cluster::HomePage>();
  };
}
