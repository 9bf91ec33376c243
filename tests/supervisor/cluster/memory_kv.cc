#include <fmt/format.h>

#include "memory_core.h"
#include "supervisor/cluster/bus/subjects.h"

namespace cluster {
namespace {

using Core = MemoryBroker::Core;

struct MemoryPlace {
  std::shared_ptr<Core> core;
  std::shared_ptr<MemoryClient> client;
  std::string name;
  BucketSettings settings;
  std::chrono::milliseconds limit;
};

// What a write asks for. `expected`: the revision of the key's last change; 0: there is none, or with `creates` a
// removal.
struct MemoryWrite {
  std::string key, bytes;
  std::optional<uint64_t> expected;
  bool removes = false;
  bool creates = false;
};

// Waits as long as the network takes. Errors: unavailable.
Task<Result<>> pass(MemoryPlace position, const char* action) {
  if (position.client->state == BusState::closed) co_return closed_error(position.client->why_closed);
  if (position.client->state == BusState::reconnecting)
    co_return fail(Code::unavailable, fmt::format("{}: the bus is reconnecting; nothing was sent", action));
  const bool lost = position.client->stalled || position.core->happens(position.core->faults.drop);
  co_await sleep_for(position.core->loop, lost ? position.limit : position.core->delay());
  if (lost) co_return timeout_error(action, position.limit);
  if (position.client->state != BusState::connected) co_return timeout_error(action, position.limit);
  co_await next_turn(position.core->loop);
  co_return Result<>();
}

Result<MemoryBucket*> find_bucket(MemoryPlace& position) {
  const auto it = position.core->buckets.find(position.name);
  if (it == position.core->buckets.end())
    return fail(Code::unavailable, fmt::format("the bucket '{}' does not exist", position.name), "open it again");
  return &it->second;
}

Task<Result<std::optional<KvEntry>>> get_memory(MemoryPlace position, std::string key) {
  CO_CHECKED(check_subject(key));
  CO_CHECKED(co_await pass(position, "read"));
  CO_TRY(MemoryBucket * bucket, find_bucket(position));
  std::optional<KvEntry> entry;
  const auto it = bucket->values.find(key);
  if (it != bucket->values.end() && !it->second.removed) {
    entry.emplace();
    entry->bytes = it->second.bytes;
    entry->revision = it->second.revision;
  }
  co_return entry;
}

Task<Result<KvWrite>> write_memory(MemoryPlace position, MemoryWrite write) {
  CO_CHECKED(check_subject(write.key));
  if (write.bytes.size() > position.settings.max_value_bytes)
    co_return too_large_error(write.key, write.bytes.size(), position.settings.max_value_bytes);
  CO_CHECKED(co_await pass(position, "write"));
  KvWrite outcome;
  {
    CO_TRY(MemoryBucket * bucket, find_bucket(position));
    const auto it = bucket->values.find(write.key);
    const bool absent = it == bucket->values.end();
    const uint64_t last = absent || (write.creates && it->second.removed) ? 0 : it->second.revision;
    if (write.expected && *write.expected != last) co_return outcome;
    position.core->store(position.name, write.key, std::move(write.bytes), write.removes);
    outcome.written = true;
    outcome.revision = bucket->revision;
  }
  CO_CHECKED(co_await pass(position, "write"));  // the answer may be lost, too
  co_return outcome;
}

Task<Result<uint64_t>> put_memory(MemoryPlace position, MemoryWrite write) {
  CO_TRY(const KvWrite outcome, co_await write_memory(std::move(position), std::move(write)));
  co_return outcome.revision;
}

Task<Result<std::vector<std::string>>> list_memory(MemoryPlace position) {
  CO_CHECKED(co_await pass(position, "list"));
  CO_TRY(const MemoryBucket* bucket, find_bucket(position));
  std::vector<std::string> keys;
  for (const auto& [key, value] : bucket->values)
    if (!value.removed) keys.push_back(key);
  co_return keys;
}

class MemoryWatch : public KvWatch {
 public:
  explicit MemoryWatch(std::shared_ptr<KvChanges> changes) : changes_(std::move(changes)) {}
  ~MemoryWatch() override { changes_->end(closed_error("the watch was ended").value()); }
  Task<Result<KvChange>> next() override { return KvChanges::next(changes_); }

 private:
  std::shared_ptr<KvChanges> changes_;
};

class MemoryBucketClient : public KvBucket {
 public:
  explicit MemoryBucketClient(MemoryPlace position) : place_(std::move(position)) {}
  Task<Result<std::optional<KvEntry>>> get(std::string key) override { return get_memory(place_, std::move(key)); }
  Task<Result<uint64_t>> put(std::string key, std::string bytes) override {
    return put_memory(place_, wanted(std::move(key), std::move(bytes), std::nullopt, false));
  }
  Task<Result<KvWrite>> create(std::string key, std::string bytes) override {
    MemoryWrite created = wanted(std::move(key), std::move(bytes), 0, false);
    created.creates = true;
    return write_memory(place_, std::move(created));
  }
  Task<Result<KvWrite>> update(std::string key, std::string bytes, uint64_t revision) override {
    return write_memory(place_, wanted(std::move(key), std::move(bytes), revision, false));
  }
  Task<Result<KvWrite>> remove(std::string key, std::optional<uint64_t> revision) override {
    return write_memory(place_, wanted(std::move(key), "", revision, true));
  }
  Task<Result<std::vector<std::string>>> keys() override { return list_memory(place_); }
  Result<std::unique_ptr<KvWatch>> watch(std::string filter) override {
    CHECKED(check_filter(filter));
    auto changes = std::make_shared<KvChanges>(place_.core->loop, place_.name, place_.settings.max_watched_bytes);
    place_.core->watchers.push_back({place_.client, place_.name, std::move(filter), changes});
    place_.core->after_delay(
        nullptr, [core = place_.core.get(), watcher = place_.core->watchers.back()] { core->tell_all(watcher); });
    return std::make_unique<MemoryWatch>(std::move(changes));
  }

 private:
  static MemoryWrite wanted(std::string key, std::string bytes, std::optional<uint64_t> expected, bool removes) {
    return {std::move(key), std::move(bytes), expected, removes};
  }
  MemoryPlace place_;
};

bool reaches(const MemoryWatcher& watcher) {
  const auto client = watcher.client.lock();
  return client && client->state == BusState::connected && !client->stalled;
}

}  // namespace

void MemoryBroker::Core::tell_all(const MemoryWatcher& watcher) {
  const auto changes = watcher.changes.lock();
  if (!changes || !reaches(watcher)) return;
  changes->begin_all();
  std::map<uint64_t, std::pair<std::string, MemoryBucket::Value>> by_revision;
  if (const auto bucket = buckets.find(watcher.bucket); bucket != buckets.end())
    for (const auto& [key, value] : bucket->second.values)
      if (!value.removed && matches(watcher.filter, key)) by_revision.emplace(value.revision, std::pair(key, value));
  for (const auto& [revision, entry] : by_revision)
    changes->value(entry.first, entry.second.bytes, revision, entry.second.produced);
  changes->end_all();
}

void MemoryBroker::Core::store(const std::string& name, const std::string& key, std::string bytes, bool removed) {
  MemoryBucket& bucket = buckets[name];
  MemoryBucket::Value& value = bucket.values[key];
  value = {std::move(bytes), ++bucket.revision, ++produced, removed};
  std::erase_if(watchers, [](const MemoryWatcher& watcher) { return watcher.changes.expired(); });
  for (const MemoryWatcher& watcher : watchers) {
    if (watcher.bucket != name || !matches(watcher.filter, key) || !reaches(watcher)) continue;
    const auto changes = watcher.changes.lock();
    if (removed)
      changes->removed(key, value.revision);
    else
      changes->value(key, value.bytes, value.revision, value.produced);
  }
}

void MemoryBroker::Core::resync(const std::shared_ptr<MemoryClient>& client) {
  for (const MemoryWatcher& watcher : watchers)
    if (watcher.client.lock() == client) tell_all(watcher);
}

void MemoryBroker::lose_bucket(const std::string& bucket) { core_->buckets.erase(bucket); }

void MemoryBroker::write_value(const std::string& bucket, const std::string& key, std::string bytes) {
  core_->store(bucket, key, std::move(bytes), false);
}

Task<Result<std::unique_ptr<KvBucket>>> open_memory_bucket(std::shared_ptr<MemoryBroker::Core> core,
                                                           std::shared_ptr<MemoryClient> client, std::string name,
                                                           BucketSettings settings, std::chrono::milliseconds limit) {
  MemoryPlace position;
  position.core = std::move(core);
  position.client = std::move(client);
  position.name = std::move(name);
  position.settings = settings;
  position.limit = limit;
  CO_CHECKED(co_await pass(position, "open the bucket"));
  position.core->buckets.try_emplace(position.name).first->second.settings = settings;
  co_return std::unique_ptr<KvBucket>(std::make_unique<MemoryBucketClient>(std::move(position)));
}

}  // namespace cluster
