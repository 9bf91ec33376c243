#include "supervisor/cluster/node/home_directory.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>
#include <vector>

#include "supervisor/base/log.h"
#include "supervisor/cluster/bus/subjects.h"

namespace cluster {
namespace {

using namespace std::chrono_literals;

constexpr auto kTryAgain = 1s;
constexpr size_t kMaxHomesOfAccount = 10'000;
constexpr size_t kPutBackAtOnce = 16;

bool is_hash(std::string_view key) { return key.starts_with("_H") || key.find("._H") != key.npos; }

// The name behind a token of name_token(); nullopt: it is a hash.
std::optional<std::string> name_of_token(std::string_view token) {
  if (token == "_") return std::string();
  std::string name;
  for (size_t i = 0; i < token.size(); i++) {
    if (token[i] != '_') {
      name += token[i];
      continue;
    }
    unsigned value = 0;
    const char* const digits = token.data() + i + 1;
    if (i + 2 >= token.size() || std::from_chars(digits, digits + 2, value, 16).ptr != digits + 2) return std::nullopt;
    name += static_cast<char>(value);
    i += 2;
  }
  return name;
}

}  // namespace

std::string write_home_record(HomeRecord home, const tenants::TenantId& id) {
  if (is_hash(tenant_key(id.account, id.workspace))) home.of = id.text();
  return write_home_record(home);
}

void HomeDirectory::note_name(const std::string& key, const tenants::TenantId& id) {
  if (is_hash(key)) long_names_[key] = id;
}

std::optional<tenants::TenantId> HomeDirectory::name_of(const std::string& key) const {
  if (is_hash(key)) {
    const auto it = long_names_.find(key);
    return it == long_names_.end() ? std::nullopt : std::optional(it->second);
  }
  const size_t dot = key.find('.');
  if (dot == key.npos) return std::nullopt;
  auto account = name_of_token(std::string_view(key).substr(0, dot));
  auto workspace = name_of_token(std::string_view(key).substr(dot + 1));
  if (!account || !workspace) return std::nullopt;
  return tenants::TenantId{*std::move(account), *std::move(workspace)};
}

HomeDirectory::HomeDirectory(Loop& loop, Bus& bus, const NodeSettings& settings, const NodeDirectory& nodes,
                             const NodeLease& lease, std::function<void()> moved)
    : loop_(loop),
      bus_(bus),
      settings_(settings),
      nodes_(nodes),
      lease_(lease),
      moved_(std::move(moved)),
      homes_(lease, settings.node),
      tasks_(loop) {}

Result<> HomeDirectory::begin() {
  TRY(memory_, HomeMemory::open(loop_, settings_.state, records_));
  tasks_.spawn(follow());
  return {};
}

Task<> HomeDirectory::follow() {
  const auto remembered = co_await memory_->load();
  for (const auto& [key, record] : remembered) set_record(key, record);
  BucketReader reader;
  reader.name = "homes";
  reader.settings.replicas = settings_.replicas;
  reader.opened = [this](std::shared_ptr<KvBucket> bucket) {
    bucket_ = std::move(bucket);
    for (const auto& [key, record] : records_) unseen_.insert(key);
  };
  reader.take = [this](KvChange change) -> Task<> {
    take(change);
    co_return;
  };
  co_await follow_bucket(loop_, bus_, std::move(reader));
}

void HomeDirectory::take(const KvChange& change) {
  if (change.kind == KvChange::Kind::current) return take_current();
  if (!check_subject(change.key)) return;
  unseen_.erase(change.key);
  const auto it = records_.find(change.key);
  if (change.kind == KvChange::Kind::removed) {
    if (it == records_.end()) return;
    if (change.revision == 0) return put_back(change.key);
    remove_record(change.key);
    // A next home of this workspace begins with the first epoch.
    homes_.forget_if(
        [&change](const tenants::TenantId& id) { return tenant_key(id.account, id.workspace) == change.key; });
    return moved_();
  }
  const auto record = read_home_record(change.bytes);
  if (!record) return log_warning("cluster: a home is not used: {}: {}", change.key, record.error().what);
  lost_.erase(change.key);
  lost_own_.erase(change.key);
  if (it != records_.end() && it->second == *record) return;
  if (is_hash(change.key)) {
    const auto id = tenants::TenantId::parse(record->of);
    if (id && tenant_key(id->account, id->workspace) == change.key) note_name(change.key, *id);
  }
  if (it != records_.end() && record->epoch < it->second.epoch) return put_back(change.key);
  if (it != records_.end() && record->epoch == it->second.epoch)
    log_error(
        "cluster: the home {} was at node {}, and the cluster lost this: now it is at node {}; its files may be at {}",
        change.key, it->second.node, record->node, it->second.node);
  const bool has_moved = it != records_.end();
  set_record(change.key, *record);
  if (has_moved) moved_();
}

// What this node remembers and the bucket does not have was lost there.
void HomeDirectory::take_current() {
  for (const std::string& key : std::exchange(unseen_, {})) put_back(key);
  is_current_ = true;
}

void HomeDirectory::put_back(const std::string& key) {
  const auto it = records_.find(key);
  const bool is_own = it != records_.end() && it->second.node == settings_.node;
  (is_own ? lost_own_ : lost_).insert(key);
  if (putting_back_ >= kPutBackAtOnce || putting_back_ >= lost_own_.size() + lost_.size()) return;
  putting_back_++;
  tasks_.spawn(put_back_some());
}

// Own homes first: each node puts back its own at the same time, and hears of those of the others meanwhile.
Task<> HomeDirectory::put_back_some() {
  for (;;) {
    std::set<std::string>& lost = lost_own_.empty() ? lost_ : lost_own_;
    if (lost.empty()) break;
    const std::string key = lost.extract(lost.begin()).value();
    const bool is_done = co_await put_back_entry(bucket_, key);
    if (is_done) {
      put_back_count_++;
    } else {
      lost_.insert(key);
      co_await sleep_for(loop_, kTryAgain);
    }
  }
  if (--putting_back_ > 0) co_return;
  log_warning("cluster: the bus had lost {} homes of workspaces: they are in their place again",
              std::exchange(put_back_count_, 0));
}

// False: the bus does not answer. A record with a higher epoch stays: the watch tells it.
Task<bool> HomeDirectory::put_back_entry(std::shared_ptr<KvBucket> bucket, std::string key) {
  const auto it = records_.find(key);
  if (it == records_.end()) co_return true;
  const HomeRecord record = it->second;
  if (!nodes_.trust().find(record.node)) {  // of an earlier cluster
    remove_record(key);
    co_return true;
  }
  const auto created = co_await bucket->update(key, write_home_record(record), 0);
  if (!created) co_return false;
  if (created->written) co_return true;
  const auto entry = co_await bucket->get(key);
  if (!entry) co_return false;
  if (!*entry) {  // it was removed while this node did not hear of it
    remove_record(key);
    co_return true;
  }
  const auto present = read_home_record((*entry)->bytes);
  if (present && present->epoch >= record.epoch) co_return true;
  const auto replaced = co_await bucket->update(key, write_home_record(record), (*entry)->revision);
  co_return replaced && replaced->written;
}

void HomeDirectory::set_record(const std::string& key, const HomeRecord& record) {
  const auto named = long_names_.extract(key);
  remove_record(key);
  if (named) long_names_.emplace(key, named.mapped());
  records_.emplace(key, record);
  ++counts_[record.node];
  memory_->note_change(key);
}

void HomeDirectory::remove_record(const std::string& key) {
  const auto it = records_.find(key);
  if (it == records_.end()) return;
  const auto count = counts_.find(it->second.node);
  if (--count->second == 0) counts_.erase(count);
  records_.erase(it);
  long_names_.erase(key);
  memory_->note_change(key);
}

// A workspace's name is the client's choice, so the homes of one account are bounded.
size_t HomeDirectory::homes_of(const std::string& account) const {
  const std::string prefix = tenant_key(account, {}).substr(0, tenant_key(account, {}).find('.') + 1);
  size_t count = 0;
  for (auto it = records_.lower_bound(prefix); it != records_.end() && it->first.starts_with(prefix); ++it) count++;
  return count;
}

Task<Result<ForgottenHomes>> HomeDirectory::forget(std::string account) {
  const auto bucket = bucket_;
  if (!bucket || !is_current_)
    co_return fail(Code::unavailable, "this node cannot reach the cluster", "journalctl --unit=warder-node says why");
  const std::string prefix = name_token(account) + ".";
  std::vector<std::string> keys;
  auto it = records_.lower_bound(prefix);
  for (; it != records_.end() && it->first.starts_with(prefix) && keys.size() < kMaxForgotten; ++it)
    if (it->second.node == settings_.node) keys.push_back(it->first);
  ForgottenHomes forgotten;
  for (const std::string& key : keys) {
    CO_TRY(const auto entry, co_await bucket->get(key));
    if (!entry) continue;
    CO_TRY(const HomeRecord record, read_home_record(entry->bytes));
    if (record.node != settings_.node) continue;
    CO_TRY(const KvWrite removed, co_await bucket->remove(key, entry->revision));
    forgotten.homes += removed.written;
    if (removed.written) remove_record(key);
  }
  homes_.forget_if([&account](const tenants::TenantId& id) { return id.account == account; });
  forgotten.has_more = keys.size() == kMaxForgotten && forgotten.homes > 0;
  co_return forgotten;
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
  if (homes_of(id.account) >= kMaxHomesOfAccount)
    co_return fail(Code::exhausted, fmt::format("the account has {} shared workspaces", kMaxHomesOfAccount),
                   "use one that exists");
  CO_TRY(const std::string node,
         lighter_home(nodes_for(id.account), counts_, id, {}, BootClock::now(), settings_.node));
  const HomeRecord chosen{node, 1};
  const uint64_t period = lease_.period();
  CO_TRY(const KvWrite write, co_await bucket->create(key, write_home_record(chosen, id)));
  if (write.written) {
    set_record(key, chosen);
    note_name(key, id);
    if (chosen.node == settings_.node) homes_.confirm(id, chosen, period, HeldHomes::RecordSource::claimed);
    co_return chosen;
  }
  CO_TRY(const auto entry, co_await bucket->get(key));
  if (!entry) co_return fail(Code::unavailable, "the home of the workspace was removed just now", "send it again");
  CO_TRY(const HomeRecord present, read_home_record(entry->bytes));
  set_record(key, present);
  co_return present;
}

Task<Result<HomeDirectory::HomeLookup>> HomeDirectory::find(tenants::TenantId id) {
  const std::string key = tenant_key(id.account, id.workspace);
  if (!bucket_ || !is_current_)
    co_return fail(Code::unavailable, "this node cannot reach the cluster",
                   "ask the administrator: journalctl --unit=warder-node");
  HomeLookup match;
  const uint64_t period = lease_.period();
  if (const auto it = records_.find(key); it != records_.end()) {
    match.record = it->second;
  } else {
    CO_TRY(match.record, co_await choose(bucket_, id, key));
  }
  if (match.record.node != settings_.node) co_return match;
  if (homes_.state(id, BootClock::now()) != HomeState::usable) {  // the value itself says it, not a message about it
    const auto bucket = bucket_;
    CO_TRY(const auto entry, co_await bucket->get(key));
    if (!entry) co_return fail(Code::unavailable, "the home of the workspace was removed just now", "send it again");
    CO_TRY(match.record, read_home_record(entry->bytes));
    homes_.confirm(id, match.record, period, HeldHomes::RecordSource::read);
  }
  if (match.record.node != settings_.node) co_return match;
  if (homes_.state(id, BootClock::now()) == HomeState::lost)
    co_return fail(Code::unavailable, "the workspace was at another node in between, and its files are there",
                   "ask the administrator");
  match.is_here = true;
  co_return match;
}

}  // namespace cluster
