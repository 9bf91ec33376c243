#include "supervisor/cluster/trust/envelope_checker.h"

#include <fmt/format.h>

#include <algorithm>

#include "supervisor/base/log.h"

namespace cluster {
namespace {

using std::chrono::milliseconds;

// Longer than a message can be valid by two clocks that agree: life, and the tolerance before and after it.
constexpr milliseconds kIdLife{kEnvelopeLifeMs + 2 * EnvelopeChecker::kToleranceMs};
constexpr milliseconds kHomeLife{60'000};

EnvelopeRefusal refuse(EnvelopeFault fault, Code code, std::string problem, std::string hint) {
  return {fault, Error{code, 0, "message refused: " + std::move(problem), std::move(hint), {}, {}}};
}

EnvelopeRefusal misformed(Error error) {
  const bool is_large = error.code == Code::exhausted;
  error = std::move(error).within("message refused");
  if (error.hint.empty())
    error.hint = is_large ? "send it in parts" : "upgrade the older of both nodes, or find out who else may publish";
  return {is_large ? EnvelopeFault::too_large : EnvelopeFault::malformed, std::move(error)};
}

}  // namespace

std::string_view name_of(EnvelopeFault fault) {
  switch (fault) {
    case EnvelopeFault::too_large:
      return "too_large";
    case EnvelopeFault::malformed:
      return "malformed";
    case EnvelopeFault::wrong_receiver:
      return "wrong_receiver";
    case EnvelopeFault::unknown_sender:
      return "unknown_sender";
    case EnvelopeFault::forged:
      return "forged";
    case EnvelopeFault::expired:
      return "expired";
    case EnvelopeFault::from_the_future:
      return "from_the_future";
    case EnvelopeFault::before_start:
      return "before_start";
    case EnvelopeFault::wrong_boot:
      return "wrong_boot";
    case EnvelopeFault::tenant_not_served:
      return "tenant_not_served";
    case EnvelopeFault::unknown_policy:
      return "unknown_policy";
    case EnvelopeFault::other_policy:
      return "other_policy";
    case EnvelopeFault::old_epoch:
      return "old_epoch";
    case EnvelopeFault::replayed:
      return "replayed";
    case EnvelopeFault::too_many_ids:
      return "too_many_ids";
    case EnvelopeFault::too_many_homes:
      return "too_many_homes";
  }
  return "malformed";
}

ClockReading read_clocks() {
  const auto wall = std::chrono::system_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<milliseconds>(wall).count(), Monotonic::now()};
}

EnvelopeChecker::EnvelopeChecker(std::string node, std::string boot, TrustRecord trust, PolicyLookup policy_of,
                                 ClockReading start, size_t max_homes)
    : node_(std::move(node)),
      boot_(std::move(boot)),
      trust_(std::move(trust)),
      policy_of_(std::move(policy_of)),
      started_ms_(start.wall_ms),
      max_homes_(max_homes) {}

CheckedEnvelope EnvelopeChecker::accept(std::string_view bytes, ClockReading now) {
  auto opened = open_envelope(bytes);
  if (!opened) return tl::unexpected(misformed(std::move(opened).error()));
  const NodeEnvelope& envelope = opened->envelope;
  // The sender is checked first: others must not learn the results of later checks, or fill tables.
  if (auto refused = check_sender(*opened)) return tl::unexpected(*std::move(refused));
  if (auto refused = check_time(envelope, now)) return tl::unexpected(*std::move(refused));
  if (auto refused = check_tenant(envelope)) return tl::unexpected(*std::move(refused));
  if (auto refused = check_epoch(envelope, now)) return tl::unexpected(*std::move(refused));
  if (auto refused = check_replay(envelope, now)) return tl::unexpected(*std::move(refused));
  if (envelope.tenant && envelope.epoch > 0) store_epoch(envelope.tenant->tenant, envelope.epoch, now);
  return std::move(opened->envelope);
}

EnvelopeChecker::Refused EnvelopeChecker::check_sender(const OpenedEnvelope& opened) const {
  const NodeEnvelope& envelope = opened.envelope;
  if (envelope.to != node_)
    return refuse(EnvelopeFault::wrong_receiver, Code::denied,
                  fmt::format("it is for the node '{}', not for '{}'", envelope.to, node_),
                  "check that no two nodes have one name: warder cluster show");
  const TrustedNode* sender = trust_.find(envelope.from);
  if (!sender)
    return refuse(EnvelopeFault::unknown_sender, Code::denied,
                  fmt::format("the node '{}' is not in the trust record {}", envelope.from, trust_.serial),
                  "if it should be: warder cluster add, and give this node the new record");
  if (!sender->key.verifies(kEnvelopePurpose, opened.header, opened.signature))
    return refuse(EnvelopeFault::forged, Code::denied,
                  fmt::format("it is not signed by the key of the node '{}' in the trust record {}", envelope.from,
                              trust_.serial),
                  "if its key was changed, give this node the new record; if not, find out who may publish");
  return {};
}

EnvelopeChecker::Refused EnvelopeChecker::check_time(const NodeEnvelope& envelope, ClockReading now) const {
  const char* const kClocks = "set the clocks of both nodes (chrony, systemd-timesyncd)";
  if (envelope.issued_at_ms > now.wall_ms + kToleranceMs)
    return refuse(
        EnvelopeFault::from_the_future, Code::denied,
        fmt::format("the node '{}' issued it {} ms in the future", envelope.from, envelope.issued_at_ms - now.wall_ms),
        kClocks);
  if (envelope.issued_at_ms + kEnvelopeLifeMs + kToleranceMs < now.wall_ms)
    return refuse(EnvelopeFault::expired, Code::unavailable,
                  fmt::format("it expired {} ms ago", now.wall_ms - envelope.issued_at_ms - kEnvelopeLifeMs),
                  std::string("send it again; if all expire, ") + kClocks);
  if (!envelope.boot.empty() && envelope.boot != boot_)
    return refuse(EnvelopeFault::wrong_boot, Code::unavailable, "it is for an earlier start of this node",
                  "ask for the state, then send a new message");
  if (envelope.boot.empty() && envelope.issued_at_ms <= started_ms_ + kToleranceMs)
    return refuse(EnvelopeFault::before_start, Code::unavailable,
                  "it may be of before the start of this node, which could have accepted it then",
                  "send it again in 5 s, or with the boot of this start");
  return {};
}

EnvelopeChecker::Refused EnvelopeChecker::check_tenant(const NodeEnvelope& envelope) const {
  if (!envelope.tenant) return {};
  const EnvelopeTenant& of = *envelope.tenant;
  const TrustedNode* sender = trust_.find(envelope.from);
  if (!sender || !sender->may_act_for(of.tenant.account))
    return refuse(EnvelopeFault::tenant_not_served, Code::denied,
                  fmt::format("the node '{}' may not act for the account '{}'", envelope.from, of.tenant.account),
                  "if it should: warder cluster add with --accounts, and give this node the new record");
  if (!policy_of_) return {};
  const auto hash = policy_of_(of.policy);
  if (!hash)
    return refuse(EnvelopeFault::unknown_policy, Code::denied, fmt::format("this node has no policy '{}'", of.policy),
                  "give all nodes the same policies");
  if (*hash != of.policy_hash)
    return refuse(EnvelopeFault::other_policy, Code::denied,
                  fmt::format("policies differ: '{}' is another one on the node '{}'", of.policy, envelope.from),
                  "give both nodes the same policy; warder policy show prints it");
  return {};
}

EnvelopeChecker::Refused EnvelopeChecker::check_epoch(const NodeEnvelope& envelope, ClockReading now) {
  if (!envelope.tenant || envelope.epoch == 0) return {};
  const auto it = home_index_.find(envelope.tenant->tenant);
  if (it == home_index_.end()) {
    if (make_room_for_home(now)) return {};
    return refuse(EnvelopeFault::too_many_homes, Code::exhausted,
                  fmt::format("messages of the last minute were for {} homes already", max_homes_),
                  "send it again later");
  }
  if (envelope.epoch >= it->second->epoch) return {};
  return refuse(EnvelopeFault::old_epoch, Code::denied,
                fmt::format("its epoch {} is older than the epoch {} of the home", envelope.epoch, it->second->epoch),
                "look up which node is the home now, then ask again");
}

EnvelopeChecker::Refused EnvelopeChecker::check_replay(const NodeEnvelope& envelope, ClockReading now) {
  Sender& sender = senders_[envelope.from];
  forget_expired(sender, now);
  if (sender.ids.contains(envelope.id))
    return refuse(EnvelopeFault::replayed, Code::denied, fmt::format("the message {} was accepted before", envelope.id),
                  "no remedy is needed if it was sent twice; a new message has a new id");
  if (envelope.issued_at_ms <= sender.forgotten_until_ms)
    return refuse(EnvelopeFault::replayed, Code::denied,
                  fmt::format("the message {} may have been accepted before a clock was set back", envelope.id),
                  "send a new message; if all are refused, the clock of the sender was ahead: wait until it is passed");
  if (sender.ids.size() >= kMaxIdsOfNode)
    return refuse(EnvelopeFault::too_many_ids, Code::exhausted,
                  fmt::format("the node '{}' has sent {} messages in 30 s", envelope.from, kMaxIdsOfNode),
                  "send fewer, or larger ones");
  sender.ids.insert(envelope.id);
  sender.in_order.push_back({envelope.id, envelope.issued_at_ms, now.monotonic});
  return {};
}

// In the order of acceptance, up to the first valid id. So an id may be stored longer than its message is valid.
void EnvelopeChecker::forget_expired(Sender& sender, ClockReading now) {
  while (!sender.in_order.empty()) {
    const SeenId& oldest = sender.in_order.front();
    const bool by_wall = oldest.issued_at_ms + kEnvelopeLifeMs + kToleranceMs < now.wall_ms;
    if (!by_wall && now.monotonic - oldest.accepted <= kIdLife) return;
    sender.forgotten_until_ms = std::max(sender.forgotten_until_ms, oldest.issued_at_ms);
    sender.ids.erase(oldest.id);
    sender.in_order.pop_front();
  }
}

bool EnvelopeChecker::make_room_for_home(ClockReading now) {
  if (homes_.size() < max_homes_) return true;
  if (now.monotonic - homes_.back().used <= kHomeLife) return false;
  home_index_.erase(homes_.back().home);
  homes_.pop_back();
  return true;
}

void EnvelopeChecker::store_epoch(const tenants::TenantId& home, int64_t epoch, ClockReading now) {
  const auto it = home_index_.find(home);
  if (it == home_index_.end()) {
    homes_.push_front({home, epoch, now.monotonic});
    home_index_.emplace(home, homes_.begin());
    return;
  }
  auto& stored = *it->second;
  stored.epoch = std::max(stored.epoch, epoch);
  stored.used = now.monotonic;
  homes_.splice(homes_.begin(), homes_, it->second);
}

size_t EnvelopeChecker::stored_ids(const std::string& node) const {
  const auto it = senders_.find(node);
  return it == senders_.end() ? 0 : it->second.ids.size();
}

}  // namespace cluster
