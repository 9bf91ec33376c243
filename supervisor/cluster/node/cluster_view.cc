#include "supervisor/cluster/node/cluster_view.h"

#include <algorithm>
#include <utility>

#include "supervisor/base/json/json.h"
#include "supervisor/cluster/bus/subjects.h"

namespace cluster {
namespace {

// By the order of names: TrustRecord::find() looks at every node.
bool is_trusted(const TrustRecord& trust, const std::string& name) {
  const auto it =
      std::lower_bound(trust.nodes.begin(), trust.nodes.end(), name,
                       [](const auto& node, const std::string& requested) { return node.name < requested; });
  return it != trust.nodes.end() && it->name == name;
}

NodeState state_of(const ViewSources& sources, const std::string& name, const NodeReport* report,
                   BootClock::time_point now) {
  if (name == sources.self) return NodeState::here;
  if (!is_trusted(sources.trust, name)) return NodeState::removed;
  if (!report || now - report->received >= kSilentAfter) return NodeState::silent;
  if (report->drained) return NodeState::drained;
  return report->is_unanswered || now - report->received >= kDoubtedAfter ? NodeState::doubted : NodeState::alive;
}

NodeView view_of(const ViewSources& sources, const std::string& name, BootClock::time_point now) {
  const NodeReport* report = sources.table.find(name);
  NodeView node;
  node.name = name;
  node.state = state_of(sources, name, report, now);
  if (const auto homes = sources.homes.find(name); homes != sources.homes.end()) node.homes = homes->second;
  if (!report) return node;
  node.is_drained = report->drained;
  node.labels = report->labels;
  node.slots = report->slots;
  node.used = report->used;
  node.waiting = report->waiting;
  node.version = report->version;
  node.boot = report->boot;
  node.wire_oldest = report->wire.oldest;
  node.wire_newest = report->wire.newest;
  if (report->received != BootClock::time_point())
    node.silent_for = std::chrono::duration_cast<std::chrono::microseconds>(now - report->received);
  return node;
}

// The first name behind `after` of the trust record and of the homes; nullptr: absent.
const std::string* next_name(const ViewSources& sources, const std::string& after) {
  const auto& nodes = sources.trust.nodes;  // in the order of names
  const auto trusted = std::upper_bound(nodes.begin(), nodes.end(), after,
                                        [](const std::string& name, const auto& node) { return name < node.name; });
  const auto home = sources.homes.upper_bound(after);
  const std::string* name = trusted != nodes.end() ? &trusted->name : nullptr;
  if (home != sources.homes.end() && (!name || home->first < *name)) name = &home->first;
  return name;
}

// Rows until a page is full. False: this row is too much.
struct Rows {
  Json list = Json::array();
  size_t bytes = 0;
  bool add(Json row) {
    bytes += dump_json(row).size() + 1;
    if (bytes > kMaxPage && !list.empty()) return false;
    list.push_back(std::move(row));
    return true;
  }
};

HomeView home_view(const std::string& key, const HomeRecord& record) {
  HomeView home{key, {}, {}, record.node, record.epoch};
  const size_t dot = key.find('.');
  if (dot == key.npos) return home;
  const auto account = name_in_token(std::string_view(key).substr(0, dot));
  const auto workspace = name_in_token(std::string_view(key).substr(dot + 1));
  if (!account || !workspace) return home;
  home.account = *account;
  home.workspace = *workspace;
  return home;
}

}  // namespace

Json nodes_page(const ViewSources& sources, const std::string& after, BootClock::time_point now) {
  Rows rows;
  std::string last = after;
  for (const std::string* name = next_name(sources, last); name; name = next_name(sources, last)) {
    if (!rows.add(write_node_view(view_of(sources, *name, now))))
      return {{"nodes", std::move(rows.list)}, {"next", last}};
    last = *name;
  }
  return {{"nodes", std::move(rows.list)}};
}

void count_nodes(const ViewSources& sources, BootClock::time_point now, NodeNumbers& numbers) {
  numbers.nodes = {};
  for (const auto& node : sources.trust.nodes)
    numbers.nodes[static_cast<size_t>(state_of(sources, node.name, sources.table.find(node.name), now))]++;
  for (const auto& [name, count] : sources.homes)
    if (!is_trusted(sources.trust, name)) numbers.nodes[static_cast<size_t>(NodeState::removed)]++;
  const auto own = sources.homes.find(sources.self);
  numbers.homes = own == sources.homes.end() ? 0 : own->second;
}

Json homes_page(const std::map<std::string, HomeRecord>& records, const HomeQuestion& question) {
  const std::string prefix = question.account.empty() ? std::string() : name_token(question.account) + ".";
  auto at = question.after < prefix ? records.lower_bound(prefix) : records.upper_bound(question.after);
  Rows rows;
  std::string last = question.after;
  for (size_t checked = 0; at != records.end() && at->first.starts_with(prefix); ++at) {
    if (checked++ == kMaxLooked) return {{"homes", std::move(rows.list)}, {"next", last}};
    const bool is_requested = question.node.empty() || at->second.node == question.node;
    if (is_requested && !rows.add(write_home_view(home_view(at->first, at->second))))
      return {{"homes", std::move(rows.list)}, {"next", last}};
    last = at->first;
  }
  return {{"homes", std::move(rows.list)}};
}

}  // namespace cluster
