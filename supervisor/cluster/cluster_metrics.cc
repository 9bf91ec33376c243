#include "supervisor/cluster/cluster_metrics.h"

namespace cluster {
namespace {

constexpr std::pair<Standing, const char*> kStandings[] = {{Standing::no_cluster, "none"},
                                                           {Standing::no_warder_node, "no_warder_node"},
                                                           {Standing::fenced, "fenced"},
                                                           {Standing::member, "member"}};

void add_outcomes(metrics::OpenMetricsText& text, std::initializer_list<std::pair<const char*, uint64_t>> counts) {
  for (const auto& [outcome, count] : counts) text.sample("_total", {{"outcome", outcome}}, count);
}

}  // namespace

void write_cluster_metrics(metrics::OpenMetricsText& text, Membership* membership) {
  const Standing standing = membership ? membership->link().standing() : Standing::no_cluster;
  const NodeNumbers node = membership ? membership->link().numbers() : NodeNumbers{};
  const RoutingCounts requests = membership ? membership->router().counts() : RoutingCounts{};
  text.family("warder_cluster_state", "gauge", "",
              "This node, 1 for the present state: none (no cluster), no_warder_node, fenced (no lease: it starts "
              "nothing for shared workspaces), member.");
  for (const auto& [state, name] : kStandings) text.sample("", {{"state", name}}, state == standing ? 1 : 0);
  text.family("warder_cluster_fenced_seconds", "counter", "seconds",
              "Time without a lease, or without warder-node, since the daemon started.");
  text.seconds("_total", {}, membership ? static_cast<uint64_t>(membership->link().fenced_time().count()) : 0);
  text.family("warder_cluster_nodes", "gauge", "",
              "Nodes as this one knows them: here, alive, doubted (some signs of life are missing), silent, drained, "
              "removed (homes are left).");
  for (size_t i = 0; i < kNodeStates; i++)
    text.sample("", {{"state", std::string(name_of(static_cast<NodeState>(i)))}}, node.nodes[i]);
  text.family("warder_cluster_homes", "gauge", "", "Shared workspaces whose home is this node.");
  text.sample("", {}, node.homes);
  text.family("warder_cluster_connections", "gauge", "", "Connections to and from other nodes.");
  text.sample("", {}, node.connections);
  text.family("warder_cluster_bus_silent_seconds", "gauge", "seconds",
              "Age of what this node knows of the cluster: time since its warder-node was connected to NATS.");
  text.seconds("", {}, membership ? static_cast<uint64_t>(node.bus_silent.count()) : 0);
  text.family("warder_cluster_requests_sent", "counter", "",
              "Requests of clients here for a home at another node: answered, unreachable (not sent), lost (sent, no "
              "answer), busy (a stateless execution, refused), homeless (no node is known as home).");
  add_outcomes(text, {{"answered", requests.answered},
                      {"unreachable", requests.unreachable},
                      {"lost", requests.lost},
                      {"busy", requests.busy_there},
                      {"homeless", requests.homeless}});
  text.family("warder_cluster_requests_received", "counter", "",
              "Requests for homes here: served (of other nodes), fenced (refused for want of a lease), moved (the home "
              "is elsewhere), busy (a stateless execution, refused).");
  add_outcomes(text, {{"served", requests.served},
                      {"fenced", requests.fenced},
                      {"moved", requests.moved},
                      {"busy", requests.busy_here}});
  text.family("warder_cluster_orders", "counter", "",
              "Connections between nodes: opened, refused_there, unreachable (asked for here), opened_here, "
              "refused_here (asked for by other nodes).");
  add_outcomes(text, {{"opened", node.opened},
                      {"refused_there", node.refused_there},
                      {"unreachable", node.unreachable},
                      {"opened_here", node.opened_here},
                      {"refused_here", node.refused_here}});
  text.family("warder_cluster_refused", "counter", "",
              "Messages of other nodes that were refused, by fault of the envelope: forged, replayed, expired ...");
  for (const auto& [fault, count] : node.refused) text.sample("_total", {{"fault", fault}}, count);
  text.family("warder_cluster_hop_seconds", "histogram", "seconds",
              "Time to another node's daemon and back, of the signs of life of connections in use.");
  text.histogram({}, HopTimes::kBounds, requests.hops.counts, requests.hops.sum_us);
}

}  // namespace cluster
