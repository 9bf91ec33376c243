// Changes of homes by this node: claims, fences and takes, each a compare-and-set of the home's record.
#include <fmt/format.h>

#include "supervisor/base/log.h"
#include "supervisor/cluster/bus/subjects.h"
#include "supervisor/cluster/node/home_directory.h"

namespace cluster {
namespace {

using namespace std::chrono_literals;

constexpr int kMaxWrites = 4;  // tries of one change
constexpr auto kRewriteDelay = 200ms;
constexpr auto kLeaseLimit = 2s;
constexpr auto kLookAtLease = 1s;

tl::unexpected<Error> not_connected() {
  return fail(Code::unavailable, "this node cannot reach the cluster",
              "ask the administrator: journalctl --unit=warder-node");
}

tl::unexpected<Error> other_home(const HomeRecord& present) {
  return fail(Code::denied, fmt::format("the home is the node {} in epoch {}", present.node, present.epoch));
}

tl::unexpected<Error> is_alive(const std::string& node) {
  return fail(Code::denied, fmt::format("the node {} is alive and is the home", node),
              "use the workspace there, or move it: warder nodes move");
}

}  // namespace

Task<Result<HomeRecord>> HomeDirectory::read_present(std::string key) {
  if (!bucket_) co_return not_connected();
  const auto bucket = bucket_;
  CO_TRY(const auto entry, co_await bucket->get(key));
  if (!entry) co_return fail(Code::denied, "the workspace has no home");
  co_return read_home_record(entry->bytes);
}

// Writes `next` in the place of `expected`. A write without an answer is read again: it may have been done. Returns the
// record as it is then, which may be of another writer.
Task<Result<HomeRecord>> HomeDirectory::change(tenants::TenantId id, HomeRecord expected, HomeRecord next) {
  const std::string key = tenant_key(id.account, id.workspace);
  Error last{Code::unavailable, 0, "the cluster does not answer", {}, {}};
  for (int i = 0; i < kMaxWrites; i++) {
    if (i > 0) co_await sleep_for(loop_, kRewriteDelay);
    if (!bucket_) co_return not_connected();
    const auto bucket = bucket_;
    const uint64_t period = lease_.period();
    const auto entry = co_await bucket->get(key);
    if (!entry) {
      last = entry.error();
      continue;
    }
    if (!*entry) co_return fail(Code::denied, "the workspace has no home");
    CO_TRY(HomeRecord present, read_home_record((*entry)->bytes));
    if (present == expected) {
      std::string text = write_home_record(next, id);
      const auto written = co_await bucket->update(key, std::move(text), (*entry)->revision);
      if (!written) last = written.error();
      if (!written || !written->written) continue;
      present = next;
    }
    set_record(key, present);
    note_name(key, id);
    homes_.confirm(id, present, period,
                   present == next ? HeldHomes::RecordSource::claimed : HeldHomes::RecordSource::read);
    moved_();
    co_return present;
  }
  co_return tl::unexpected<Error>(std::move(last));
}

Task<Result<HomeDirectory::HomeLookup>> HomeDirectory::claim(tenants::TenantId id, HomeRecord expected, Claim how) {
  const TrustedNode* self = nodes_.trust().find(settings_.node);
  if (!self || !self->may_act_for(id.account))
    co_return fail(Code::denied, "the trust record does not let this node have the account " + id.account);
  HomeRecord next{settings_.node, expected.epoch + 1};
  if (how == Claim::after_lease && expected.node != settings_.node) {
    CO_TRY(next, co_await take_after_lease(expected));
  }
  CO_TRY(HomeRecord present, co_await change(id, expected, next));
  if (present != next) co_return other_home(present);
  log_notice("cluster: this node is the home of {} now, which was at {}", id.text(), expected.node);
  HomeLookup match{std::move(present), true};
  co_return match;
}

Task<Result<HomeDirectory::HomeLookup>> HomeDirectory::fence(tenants::TenantId id, uint64_t epoch) {
  const HomeRecord next{settings_.node, epoch + 1}, expected{settings_.node, epoch};
  CO_TRY(HomeRecord present, co_await change(std::move(id), expected, next));
  HomeLookup match{std::move(present), false};
  match.is_here = match.record.node == settings_.node;
  co_return match;
}

// Whether the record of a home is as the node that sends the workspace says.
Task<Result<>> HomeDirectory::check_push(tenants::TenantId id, std::string from, uint64_t epoch) {
  const TrustedNode* self = nodes_.trust().find(settings_.node);
  if (!self || !self->may_act_for(id.account))
    co_return fail(Code::denied, "the trust record does not let this node have the account " + id.account,
                   "ask the administrator: warder cluster add --accounts");
  if (nodes_.is_drained())
    co_return fail(Code::denied, fmt::format("the node {} is drained", settings_.node), "warder nodes undrain, there");
  std::string key = tenant_key(id.account, id.workspace);
  CO_TRY(const HomeRecord present, co_await read_present(std::move(key)));
  const HomeRecord record{std::move(from), epoch};
  if (present != record) co_return other_home(present);
  co_return Result<>{};
}

Result<std::string> HomeDirectory::other_node(const tenants::TenantId& id) const {
  NodeTable table = nodes_for(id.account);
  table.remove(settings_.node);
  return lighter_home(table, counts_, id, {}, BootClock::now());
}

std::vector<std::pair<tenants::TenantId, HomeRecord>> HomeDirectory::held_after(const tenants::TenantId& after,
                                                                                size_t max) const {
  std::vector<std::pair<tenants::TenantId, HomeRecord>> reserved;
  auto item =
      after.account.empty() ? records_.begin() : records_.upper_bound(tenant_key(after.account, after.workspace));
  for (; item != records_.end() && reserved.size() < max; ++item) {
    if (item->second.node != settings_.node) continue;
    if (auto id = name_of(item->first)) reserved.emplace_back(*std::move(id), item->second);
  }
  return reserved;
}

// The record with which this node takes the home, when the lease of the present one has ended. That lease must not be
// renewed while this node watches it for kMayTakeAfter.
Task<Result<HomeRecord>> HomeDirectory::take_after_lease(HomeRecord present) {
  BucketSettings settings;
  settings.replicas = settings_.replicas;
  CO_TRY(const auto leases, co_await bus_.open_bucket("leases", settings, kLeaseLimit));
  LeaseWatch watch(BootClock::now());
  for (;;) {
    CO_TRY(const auto entry, co_await leases->get(present.node));
    const auto now = BootClock::now();
    const bool is_renewed = watch.saw(entry ? entry->revision : 0, now);
    if (is_renewed) co_return is_alive(present.node);
    if (auto reserved = adopted(present, settings_.node, watch, now)) co_return *std::move(reserved);
    co_await sleep_for(loop_, kLookAtLease);
  }
}

Task<Result<HomeDirectory::HomeLookup>> HomeDirectory::find_lost(tenants::TenantId id) {
  if (!bucket_) co_return not_connected();
  const std::string key = tenant_key(id.account, id.workspace);
  const auto bucket = bucket_;
  std::string text = write_home_record({settings_.node, 1}, id);
  CO_TRY(const KvWrite write, co_await bucket->create(key, std::move(text)));
  (void)write;
  CO_TRY(HomeRecord present, co_await read_present(key));
  const NodeReport* node = nodes_.table().find(present.node);
  const bool is_heard = node && BootClock::now() - node->received < kSilentAfter;
  if (present.node != settings_.node && is_heard) co_return is_alive(present.node);
  HomeLookup match{std::move(present), false};
  match.is_here = match.record.node == settings_.node;
  co_return match;
}

}  // namespace cluster
