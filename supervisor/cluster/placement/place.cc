#include "supervisor/cluster/placement/place.h"

#include <fmt/format.h>

#include <algorithm>

#include "supervisor/base/fnv.h"

namespace cluster {
namespace {

enum class Obstacle { none, silent, drained, no_slots, label, wire };

bool has_labels(const NodeReport& node, const NodeLabels& needed) {
  return std::ranges::all_of(needed, [&](const auto& label) {
    const auto own = node.labels.find(label.first);
    return own != node.labels.end() && own->second == label.second;
  });
}

Obstacle obstacle(const NodeReport& node, const PlacementNeeds& needs, BootClock::time_point now) {
  if (now - node.received >= kSilentAfter) return Obstacle::silent;
  if (node.drained) return Obstacle::drained;
  if (node.slots == 0) return Obstacle::no_slots;
  if (!node.wire.overlaps(needs.wire)) return Obstacle::wire;
  return has_labels(node, needs.labels) ? Obstacle::none : Obstacle::label;
}

// Why no node may take the work: each reason with the number of nodes that it excludes.
tl::unexpected<Error> no_node(const NodeTable& nodes, const PlacementNeeds& needs,
                              const std::vector<std::string>& tried, BootClock::time_point now) {
  size_t silent = 0, drained = 0, no_slots = 0, label = 0, wire = 0;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (std::ranges::find(tried, nodes.at(i).name) != tried.end()) continue;  // counted as refused
    const Obstacle why = obstacle(nodes.at(i), needs, now);
    silent += why == Obstacle::silent;
    drained += why == Obstacle::drained;
    no_slots += why == Obstacle::no_slots;
    label += why == Obstacle::label;
    wire += why == Obstacle::wire;
  }
  std::string reasons;
  const auto add = [&](size_t count, std::string_view reason) {
    if (count > 0) reasons += fmt::format("{}{} {}", reasons.empty() ? ": " : ", ", count, reason);
  };
  add(tried.size(), "refused or did not answer");
  add(drained, "drained");
  add(silent, fmt::format("not heard for {} s", kSilentAfter.count()));
  add(no_slots, "without slots");
  add(wire, "without a protocol version in common");
  add(label, "without the needed labels");
  if (nodes.size() == 0) reasons = ": no node is known";
  return fail(Code::unavailable, "no node of the cluster can take this work" + reasons,
              "try again later, or ask the administrator");
}

// The finalizer of splitmix64: every bit of the result depends on every bit of `hash`. FNV alone leaves names that
// differ in their last letter only ("n1", "n2") with hashes that are alike.
constexpr uint64_t mixed(uint64_t hash) {
  hash = (hash ^ (hash >> 30U)) * 0xbf58476d1ce4e5b9U;
  hash = (hash ^ (hash >> 27U)) * 0x94d049bb133111ebU;
  return hash ^ (hash >> 31U);
}

// The two nodes with the highest hash of (workspace, node), of those that may have a home.
struct HighestNodes {
  const NodeReport* first = nullptr;
  const NodeReport* second = nullptr;
  uint64_t first_hash = 0, second_hash = 0;
};

HighestNodes highest_nodes(const NodeTable& nodes, const tenants::TenantId& workspace, const PlacementNeeds& needs,
                           BootClock::time_point now) {
  // Nodes with the same hash are in the order of their names: the table's order must not matter.
  const auto is_above = [](uint64_t hash, const NodeReport& node, uint64_t other_hash, const NodeReport* other) {
    return !other || hash > other_hash || (hash == other_hash && node.name < other->name);
  };
  const uint64_t workspace_hash = mixed(fnv_of<uint64_t>(workspace.text()));
  HighestNodes highest;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const uint64_t hash = mixed(workspace_hash ^ nodes.name_hash(i));
    if (highest.second && hash < highest.second_hash) continue;  // most nodes: their reports are not looked at
    const NodeReport& node = nodes.at(i);
    if (!is_above(hash, node, highest.second_hash, highest.second)) continue;
    if (obstacle(node, needs, now) != Obstacle::none) continue;
    highest.second = &node;
    highest.second_hash = hash;
    if (!is_above(hash, node, highest.first_hash, highest.first)) continue;
    std::swap(highest.first, highest.second);
    std::swap(highest.first_hash, highest.second_hash);
  }
  return highest;
}

}  // namespace

Result<std::string> lighter_home(const NodeTable& nodes, const HomeCounts& homes, const tenants::TenantId& workspace,
                                 const PlacementNeeds& needs, BootClock::time_point now, std::string_view here) {
  constexpr size_t kMoreHere = 64;  // one home in so many
  const HighestNodes highest = highest_nodes(nodes, workspace, needs, now);
  if (!highest.first) return no_node(nodes, needs, {}, now);
  if (!highest.second) return highest.first->name;
  const auto count_at = [&](const NodeReport& node) {
    const auto it = homes.find(node.name);
    return it == homes.end() ? size_t{0} : it->second;
  };
  const bool second_is_lighter = count_at(*highest.second) < count_at(*highest.first);
  const NodeReport& lighter = second_is_lighter ? *highest.second : *highest.first;
  const NodeReport* near = nodes.find(here);
  const size_t max = count_at(lighter) + count_at(lighter) / kMoreHere;
  const bool is_near = near && count_at(*near) <= max && obstacle(*near, needs, now) == Obstacle::none;
  return is_near ? near->name : lighter.name;
}

bool takes_run(const NodeReport& self) { return !self.drained && self.slots > 0 && self.occupancy() < kRefuseAbove; }

RunPlacement::RunPlacement(const NodeTable& nodes, Request request, const RandomBits& random)
    : nodes_(nodes), request_(std::move(request)), random_(random) {}

Result<std::string> RunPlacement::next(BootClock::time_point now) {
  if (tried_.size() >= kMaxTries)
    return fail(Code::exhausted,
                fmt::format("{} nodes refused this run or did not answer: {}", tried_.size(), fmt::join(tried_, ", ")),
                "the cluster is full: try again later");
  if (request_.here_is_free && tried_.empty()) {
    const NodeReport* here = nodes_.find(request_.here);
    if (here && may_take(*here, now)) return tried_.emplace_back(here->name);
  }
  const size_t first = random_candidate(kNoNode, now);
  if (first == kNoNode) return no_node(nodes_, request_.needs, tried_, now);
  const size_t second = random_candidate(first, now);
  const bool second_is_better = second != kNoNode && is_better(nodes_.at(second), nodes_.at(first), now);
  return tried_.emplace_back(nodes_.at(second_is_better ? second : first).name);
}

bool RunPlacement::may_take(const NodeReport& node, BootClock::time_point now) const {
  return obstacle(node, request_.needs, now) == Obstacle::none && std::ranges::find(tried_, node.name) == tried_.end();
}

// A random one of the nodes that may take the run. Draws first: in a healthy cluster one or two are enough, however
// many nodes it has. Where few nodes are left, one walk over all.
size_t RunPlacement::random_candidate(size_t other_than, BootClock::time_point now) const {
  constexpr int kDraws = 16;
  for (int draw = 0; draw < kDraws && nodes_.size() > 0; ++draw) {
    const size_t index = random_below(nodes_.size());
    if (index != other_than && may_take(nodes_.at(index), now)) return index;
  }
  size_t chosen = kNoNode;
  uint64_t candidates = 0;
  for (size_t index = 0; index < nodes_.size(); ++index) {
    if (index == other_than || !may_take(nodes_.at(index), now)) continue;
    if (random_below(++candidates) == 0) chosen = index;  // each candidate with the same probability
  }
  return chosen;
}

bool RunPlacement::is_better(const NodeReport& node, const NodeReport& other, BootClock::time_point now) const {
  const bool is_doubted = node.is_unanswered || now - node.received >= kDoubtedAfter;
  const bool other_is_doubted = other.is_unanswered || now - other.received >= kDoubtedAfter;
  if (is_doubted != other_is_doubted) return other_is_doubted;
  return blurred_occupancy(node, now) < blurred_occupancy(other, now);
}

double RunPlacement::blurred_occupancy(const NodeReport& node, BootClock::time_point now) const {
  using Seconds = std::chrono::duration<double>;
  const double age = std::clamp(Seconds(now - node.received) / Seconds(kLoadStaleAfter), 0.0, 1.0);
  const double uniform = static_cast<double>(random_() >> 11U) * 0x1p-53;  // 0 to 1
  return node.occupancy() + age * kStaleError * (uniform - 0.5);
}

// Multiply and shift. `limit` is at most kMaxNodes, so the probabilities differ by less than 1 in 30,000.
uint64_t RunPlacement::random_below(uint64_t limit) const { return ((random_() >> 32U) * limit) >> 32U; }

}  // namespace cluster
