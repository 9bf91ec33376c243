#include "supervisor/operations/metrics/cluster.h"

namespace metrics {
namespace {

void add_counts(OpenMetricsText& text, std::string_view suffix, std::string_view label,
                const ClusterNumbers::Counts& counts) {
  for (const auto& [value, count] : counts) text.sample(suffix, {{label, value}}, count);
}

}  // namespace

void add_cluster(OpenMetricsText& text, const ClusterNumbers& cluster) {
  text.family("warder_cluster_state", "gauge", "",
              "This node, 1 for the present state: none (no cluster), no_warder_node, fenced (no lease: it starts "
              "nothing for shared workspaces), member.");
  add_counts(text, "", "state", cluster.states);
  text.family("warder_cluster_fenced_seconds", "counter", "seconds",
              "Time without a lease, or without warder-node, since the daemon started.");
  text.seconds("_total", {}, cluster.fenced_us);
  text.family("warder_cluster_nodes", "gauge", "",
              "Nodes as this one knows them: here, alive, doubted (some signs of life are missing), silent, drained, "
              "removed (homes are left).");
  add_counts(text, "", "state", cluster.nodes);
  text.family("warder_cluster_homes", "gauge", "", "Shared workspaces whose home is this node.");
  text.sample("", {}, cluster.homes);
  text.family("warder_cluster_connections", "gauge", "", "Connections to and from other nodes.");
  text.sample("", {}, cluster.connections);
  text.family("warder_cluster_bus_silent_seconds", "gauge", "seconds",
              "Age of what this node knows of the cluster: time since its warder-node was connected to NATS.");
  text.seconds("", {}, cluster.bus_silent_us);
  text.family("warder_cluster_requests_sent", "counter", "",
              "Requests of clients here for a home at another node: answered, unreachable (not sent), lost (sent, no "
              "answer), busy (a stateless execution, refused), homeless (no node is known as home).");
  add_counts(text, "_total", "outcome", cluster.sent);
  text.family("warder_cluster_requests_received", "counter", "",
              "Requests for homes here: served (of other nodes), fenced (refused for want of a lease), moved (the home "
              "is elsewhere), busy (a stateless execution, refused).");
  add_counts(text, "_total", "outcome", cluster.received);
  text.family("warder_cluster_orders", "counter", "",
              "Connections between nodes: opened, refused_there, unreachable (asked for here), opened_here, "
              "refused_here (asked for by other nodes).");
  add_counts(text, "_total", "outcome", cluster.orders);
  text.family("warder_cluster_refused", "counter", "",
              "Messages of other nodes that were refused, by fault of the envelope: forged, replayed, expired ...");
  add_counts(text, "_total", "fault", cluster.refused);
  text.family("warder_cluster_hop_seconds", "histogram", "seconds",
              "Time to another node's daemon and back, of the signs of life of connections in use.");
  uint64_t so_far = 0;
  for (size_t i = 0; i <= cluster.hop_bounds.size(); i++) {
    so_far += i < cluster.hops.size() ? cluster.hops[i] : 0;
    const std::string bound = i < cluster.hop_bounds.size() ? seconds_text(cluster.hop_bounds[i]) : "+Inf";
    text.sample("_bucket", {{"le", bound}}, so_far);
  }
  text.sample("_count", {}, so_far);
  text.seconds("_sum", {}, cluster.hops_us);
}

}  // namespace metrics
