// Judges a node of a cluster, and what differs between the nodes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "supervisor/operations/doctor/doctor.h"

namespace doctor {
namespace {

constexpr size_t kMaxNamed = 10;  // nodes in one text

std::string some_of(const std::vector<std::string>& names) {
  const size_t shown_count = std::min(names.size(), kMaxNamed);
  std::string text =
      fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<ptrdiff_t>(shown_count), ", "));
  if (names.size() > shown_count) text += fmt::format(" and {} more", names.size() - shown_count);
  return text;
}

Finding judge_membership(const ClusterSeen& seen) {
  const std::string subject = "cluster";
  if (seen.standing == "no warder-node")
    return {subject, Health::bad, "warder-node is not connected to warderd, so requests for shared workspaces fail",
            "install the package warder-cluster if it is missing; systemctl enable --now warder-node; journalctl "
            "--unit=warder-node says why it ended"};
  const std::string bus = seen.bus.empty() ? std::string() : fmt::format("; NATS: {}", seen.bus);
  if (seen.standing == "fenced")
    return {subject, Health::bad,
            fmt::format("the node {} is fenced: it has no lease, so it refuses work for shared workspaces{}", seen.self,
                        bus),
            "check that it reaches NATS, that the clock and the certificates of the servers are right, and that no "
            "other machine has its name: journalctl --unit=warder-node"};
  if (seen.bus_silent_s > 0)
    return {subject, Health::note,
            fmt::format("the node {} has a lease, and lost NATS {} s ago{}", seen.self, seen.bus_silent_s, bus),
            "after 20 s it refuses work for shared workspaces: journalctl --unit=warder-node"};
  return {subject, Health::good, fmt::format("the node {} of {} has its lease", seen.self, seen.nodes), {}};
}

Finding judge_nodes(const ClusterSeen& seen) {
  const std::string subject = "cluster nodes";
  if (seen.silent.empty() && seen.unanswered.empty())
    return {subject, Health::good, fmt::format("{} nodes answer", seen.nodes), {}};
  std::vector<std::string> reasons;
  if (!seen.silent.empty()) reasons.push_back("not heard: " + some_of(seen.silent));
  if (!seen.unanswered.empty()) reasons.push_back("heard, but without an answer: " + some_of(seen.unanswered));
  return {subject, Health::note, fmt::format("{}", fmt::join(reasons, "; ")),
          "on these machines: systemctl status warder warder-node; for a machine without a return: warder cluster "
          "remove"};
}

Finding judge_trust(const ClusterSeen& seen) {
  const std::string subject = "cluster trust";
  if (!seen.trust_trouble.empty())
    return {subject, Health::bad,
            fmt::format("record {} is in force, and the file is not: {}", seen.trust_serial, seen.trust_trouble),
            "copy trust.record of the machine with the authority's key to /etc/warder/cluster, for root, mode 0644"};
  if (seen.refused_for_time > 0)
    return {subject, Health::note,
            fmt::format("{} messages of other nodes were refused, because by the clock here they were expired or of "
                        "the future",
                        seen.refused_for_time),
            "set the clocks of all nodes: chrony or systemd-timesyncd"};
  return {subject, Health::good, fmt::format("record {} is in force", seen.trust_serial), {}};
}

// The nodes that have another hash than most; of equal numbers, the node itself is right.
struct Differing {
  std::vector<std::string> other, missing;
};
Differing differing_nodes(const ClusterSeen& seen, const std::string& policy, const std::set<std::string>& nodes) {
  std::map<std::string, std::vector<std::string>> by_hash;
  std::string own;
  std::set<std::string> without = nodes;
  for (const auto& item : seen.policies) {
    if (item.name != policy) continue;
    by_hash[item.hash].push_back(item.node);
    without.erase(item.node);
    if (item.node == seen.self) own = item.hash;
  }
  const auto usual = std::max_element(by_hash.begin(), by_hash.end(), [&own](const auto& a, const auto& b) {
    return std::pair(a.second.size(), a.first == own) < std::pair(b.second.size(), b.first == own);
  });
  Differing differing;
  for (const auto& [hash, having] : by_hash)
    if (hash != usual->first) differing.other.insert(differing.other.end(), having.begin(), having.end());
  differing.missing.assign(without.begin(), without.end());
  return differing;
}

Findings judge_shared_policies(const ClusterSeen& seen) {
  std::set<std::string> nodes{seen.self}, names;
  for (const auto& [node, version] : seen.versions) nodes.insert(node);
  for (const auto* absent : {&seen.silent, &seen.unanswered})
    for (const auto& node : *absent) nodes.erase(node);
  for (const auto& policy : seen.policies) names.insert(policy.name);
  Findings all;
  for (const auto& name : names) {
    const Differing differing = differing_nodes(seen, name, nodes);
    if (differing.other.empty() && differing.missing.empty()) continue;
    std::vector<std::string> reasons;
    if (!differing.other.empty()) reasons.push_back("another one on " + some_of(differing.other));
    if (!differing.missing.empty()) reasons.push_back("missing, or not shared, on " + some_of(differing.missing));
    all.push_back({"cluster policies", Health::bad,
                   fmt::format("{}: {}; requests under it are refused between these nodes and others", name,
                               fmt::join(reasons, "; ")),
                   fmt::format("give all nodes the same policies, then systemctl reload warder; warder policy show {} "
                               "on two nodes shows the difference",
                               name)});
  }
  if (all.empty())
    all.push_back(names.empty()
                      ? Finding{"cluster policies", Health::note, "no policy has shared workspaces",
                                "write \"cluster\": {\"home\": \"cluster\"} into a policy of all nodes"}
                      : Finding{"cluster policies",
                                Health::good,
                                fmt::format("{} shared policies, equal on all nodes that answer", names.size()),
                                {}});
  return all;
}

Finding judge_versions(const ClusterSeen& seen) {
  std::map<std::string, std::vector<std::string>> nodes;
  for (const auto& [node, version] : seen.versions) nodes[version].push_back(node);
  if (nodes.size() <= 1)
    return {"cluster versions", Health::good, nodes.empty() ? "not known" : "all nodes: " + nodes.begin()->first, {}};
  std::vector<std::string> texts;
  for (const auto& [version, having] : nodes) texts.push_back(version + " on " + some_of(having));
  return {"cluster versions", Health::note, fmt::format("{}", fmt::join(texts, "; ")),
          "install the same packages warder and warder-cluster on all nodes"};
}

// Only if there are such accounts.
void judge_accounts(const ClusterSeen& seen, Findings& all) {
  std::vector<std::string> positions;
  for (const auto& policy : seen.policies)
    if (policy.user_accounts > 0)
      positions.push_back(fmt::format("{} on {} ({})", policy.name, policy.node, policy.user_accounts));
  if (positions.empty()) return;
  all.push_back({"cluster accounts", Health::note,
                 "accounts uid-N have shared policies: " + some_of(positions) +
                     "; on another node the same number may be another person",
                 "name accounts in tenants.json of all nodes: {\"user\": \"ada\", \"tenant\": \"ada\", \"policy\": "
                 "\"shared\"}"});
}

void judge_left_homes(const ClusterSeen& seen, Findings& all) {
  if (seen.left_homes.empty()) return;
  std::vector<std::string> positions;
  for (const auto& [node, homes] : seen.left_homes) positions.push_back(fmt::format("{} ({})", node, homes));
  all.push_back({"cluster homes", Health::note,
                 "removed nodes are still homes of workspaces, which cannot be used: " + some_of(positions),
                 "let the node join again under its name; bring parked workspaces back: warder nodes restore; or give "
                 "them up: warder tenant remove on a node that has the tenant"});
}

}  // namespace

Findings judge_cluster(const ClusterSeen& seen) {
  Findings all{judge_membership(seen)};
  if (seen.standing == "no warder-node") return all;
  all.push_back(judge_nodes(seen));
  all.push_back(judge_trust(seen));
  for (Finding& finding : judge_shared_policies(seen)) all.push_back(std::move(finding));
  all.push_back(judge_versions(seen));
  judge_accounts(seen, all);
  judge_left_homes(seen, all);
  return all;
}

}  // namespace doctor
