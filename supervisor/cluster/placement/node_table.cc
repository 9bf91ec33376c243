#include "supervisor/cluster/placement/node_table.h"

#include <fmt/format.h>

#include <utility>

#include "supervisor/base/fnv.h"

namespace cluster {

Result<> NodeTable::report(NodeReport report) {
  if (const auto it = indexes_.find(report.name); it != indexes_.end()) {
    nodes_[it->second] = std::move(report);
    return {};
  }
  if (nodes_.size() >= kMaxNodes)
    return fail(Code::exhausted, fmt::format("the cluster has more than {} nodes", kMaxNodes),
                "remove the records of nodes that no longer exist");
  indexes_.emplace(report.name, nodes_.size());
  hashes_.push_back(fnv_of<uint64_t>(report.name));
  nodes_.push_back(std::move(report));
  return {};
}

void NodeTable::note_load(std::string_view name, std::string_view boot, uint32_t used, uint32_t waiting,
                          BootClock::time_point now) {
  const auto it = indexes_.find(name);
  if (it == indexes_.end() || nodes_[it->second].boot != boot) return;
  NodeReport& node = nodes_[it->second];
  node.used = used;
  node.waiting = waiting;
  node.received = now;
  node.is_unanswered = false;
}

void NodeTable::note_sign(std::string_view name, std::string_view boot, const NodeSign& sign,
                          BootClock::time_point now) {
  const auto it = indexes_.find(name);
  if (it == indexes_.end() || nodes_[it->second].boot != boot) return;
  NodeReport& node = nodes_[it->second];
  node.slots = sign.slots.value_or(node.slots);
  node.drained = sign.drained.value_or(node.drained);
  note_load(name, boot, sign.used, sign.waiting, now);
}

void NodeTable::note_unanswered(std::string_view name) {
  if (const auto it = indexes_.find(name); it != indexes_.end()) nodes_[it->second].is_unanswered = true;
}

void NodeTable::remove(std::string_view name) {
  const auto it = indexes_.find(name);
  if (it == indexes_.end()) return;
  const size_t index = it->second;
  indexes_.erase(it);
  if (index + 1 < nodes_.size()) {
    nodes_[index] = std::move(nodes_.back());
    hashes_[index] = hashes_.back();
    indexes_.find(nodes_[index].name)->second = index;
  }
  nodes_.pop_back();
  hashes_.pop_back();
}

const NodeReport* NodeTable::find(std::string_view name) const {
  const auto it = indexes_.find(name);
  return it == indexes_.end() ? nullptr : &nodes_[it->second];
}

}  // namespace cluster
