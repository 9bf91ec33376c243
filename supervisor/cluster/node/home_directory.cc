#include "supervisor/cluster/node/home_directory.h"

#include <fmt/format.h>

#include <utility>

#include "supervisor/base/fields.h"
#include "supervisor/base/json.h"
#include "supervisor/base/json_value.h"
#include "supervisor/base/log.h"
#include "supervisor/cluster/bus/subjects.h"
#include "supervisor/cluster/link/node_messages.h"

namespace cluster {
namespace {

using namespace std::chrono_literals;

constexpr auto kBucketLimit = 2s;
constexpr auto kTryAgain = 1s;
constexpr size_t kMostHomesOfAccount = 10'000;

Result<HomeRecord> read_record(std::string_view text) {
  TRY(const Json record, parse_json(text));
  Fields in(record, "home");
  HomeRecord home;
  TRY(home.node, in.string("node", kMostNodeName));
  TRY(const int64_t epoch, in.integer("epoch", 1, int64_t{1} << 53));
  CHECKED(in.done());
  if (!is_node_name(home.node)) return fail(Code::invalid, "home.node: not the name of a node");
  home.epoch = static_cast<uint64_t>(epoch);
  return home;
}

std::string write_record(const HomeRecord& home) { return dump_json({{"node", home.node}, {"epoch", home.epoch}}); }

}  // namespace

HomeDirectory::HomeDirectory(Loop& loop, Bus& bus, const NodeSettings& settings, const NodeDirectory& nodes,
                             const NodeLease& lease, std::function<void()> moved)
    : loop_(loop),
      bus_(bus),
      settings_(settings),
      nodes_(nodes),
      lease_(lease),
      moved_(std::move(moved)),
      held_(lease, settings.node),
      tasks_(loop) {}

Task<> HomeDirectory::follow() {
  for (;;) {
    BucketSettings settings;
    settings.replicas = settings_.replicas;
    auto bucket = co_await bus_.open_bucket("homes", settings, kBucketLimit);
    if (bucket) {
      bucket_ = *std::move(bucket);
      co_await read_all(bucket_);
    }
    co_await sleep_for(loop_, kTryAgain);
  }
}

Task<> HomeDirectory::read_all(std::shared_ptr<KvBucket> bucket) {
  auto watch = bucket->watch(">");
  while (watch) {
    auto change = co_await (*watch)->next();
    if (!change) co_return;
    take(*change);
  }
}

void HomeDirectory::take(const KvChange& change) {
  if (change.kind == KvChange::Kind::current) {
    is_current_ = true;
    return;
  }
  if (!check_subject(change.key)) return;
  const auto known = records_.find(change.key);
  if (change.kind == KvChange::Kind::removed) {
    if (known == records_.end()) return;
    remove_record(change.key);
    return moved_();
  }
  const auto record = read_record(change.bytes);
  if (!record) return log_warning("cluster: a home is not used: {}: {}", change.key, record.error().what);
  if (known != records_.end() && known->second == *record) return;
  const bool has_moved = known != records_.end();
  set_record(change.key, *record);
  if (has_moved) moved_();
}

void HomeDirectory::set_record(const std::string& key, const HomeRecord& record) {
  remove_record(key);
  records_.emplace(key, record);
  ++counts_[record.node];
}

void HomeDirectory::remove_record(const std::string& key) {
  const auto known = records_.find(key);
  if (known == records_.end()) return;
  const auto count = counts_.find(known->second.node);
  if (--count->second == 0) counts_.erase(count);
  records_.erase(known);
}

// A workspace's name is the client's choice, so the homes of one account are bounded.
size_t HomeDirectory::homes_of(const std::string& account) const {
  const std::string prefix = tenant_key(account, {}).substr(0, tenant_key(account, {}).find('.') + 1);
  size_t count = 0;
  for (auto one = records_.lower_bound(prefix); one != records_.end() && one->first.starts_with(prefix); ++one) count++;
  return count;
}

NodeTable HomeDirectory::nodes_for(const std::string& account) const {
  NodeTable allowed;
  for (size_t i = 0; i < nodes_.table().size(); i++) {
    const NodeReport& node = nodes_.table().at(i);
    const TrustedNode* trusted = nodes_.trust().find(node.name);
    if (trusted && trusted->may_act_for(account)) (void)allowed.report(node);
  }
  return allowed;
}

Task<Result<HomeRecord>> HomeDirectory::choose(std::shared_ptr<KvBucket> bucket, tenants::TenantId id,
                                               std::string key) {
  if (homes_of(id.account) >= kMostHomesOfAccount)
    co_return fail(Code::exhausted, fmt::format("the account has {} shared workspaces", kMostHomesOfAccount),
                   "use one that exists");
  CO_TRY(const std::string node, lighter_home(nodes_for(id.account), counts_, id, {}, BootClock::now()));
  const HomeRecord chosen{node, 1};
  const uint64_t period = lease_.period();
  CO_TRY(const KvWrite write, co_await bucket->create(key, write_record(chosen)));
  if (write.written) {
    set_record(key, chosen);
    if (chosen.node == settings_.node) held_.confirm(id, chosen, period, true);
    co_return chosen;
  }
  CO_TRY(const auto entry, co_await bucket->get(key));
  if (!entry) co_return fail(Code::unavailable, "the home of the workspace was removed just now", "send it again");
  CO_TRY(const HomeRecord present, read_record(entry->bytes));
  set_record(key, present);
  co_return present;
}

Task<Result<HomeDirectory::Found>> HomeDirectory::find(tenants::TenantId id) {
  const std::string key = tenant_key(id.account, id.workspace);
  if (!bucket_ || !is_current_)
    co_return fail(Code::unavailable, "this node cannot reach the cluster",
                   "ask the administrator: journalctl --unit=warder-node");
  Found found;
  const uint64_t period = lease_.period();
  if (const auto known = records_.find(key); known != records_.end()) {
    found.record = known->second;
  } else {
    CO_TRY(found.record, co_await choose(bucket_, id, key));
  }
  if (found.record.node != settings_.node) co_return found;
  if (held_.state(id, BootClock::now()) != HomeState::usable) {  // the value itself says it, not what was heard of it
    const auto bucket = bucket_;
    CO_TRY(const auto entry, co_await bucket->get(key));
    if (!entry) co_return fail(Code::unavailable, "the home of the workspace was removed just now", "send it again");
    CO_TRY(found.record, read_record(entry->bytes));
    held_.confirm(id, found.record, period, false);
  }
  if (found.record.node != settings_.node) co_return found;
  if (held_.state(id, BootClock::now()) == HomeState::lost)
    co_return fail(Code::unavailable, "the workspace was at another node in between, and its files are there",
                   "ask the administrator");
  found.is_here = true;
  co_return found;
}

}  // namespace cluster
