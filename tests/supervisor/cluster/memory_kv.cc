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
Task<Result<>> pass(MemoryPlace place, const char* action) {
  if (place.client->state == BusState::closed) co_return closed_error(place.client->why_closed);
  if (place.client->state == BusState::reconnecting)
    co_return fail(Code::unavailable, fmt::format("{}: the bus is reconnecting; nothing was sent", action));
  const bool lost = place.client->stalled || place.core->happens(place.core->faults.drop);
  co_await sleep_for(place.core->loop, lost ? place.limit : place.core->delay());
  if (lost) co_return timeout_error(action, place.limit);
  if (place.client->state != BusState::connected) co_return timeout_error(action, place.limit);
  co_await next_turn(place.core->loop);
  co_return Result<>();
}

Result<MemoryBucket*> find_bucket(MemoryPlace& place) {
  const auto found = place.core->buckets.find(place.name);
  if (found == place.core->buckets.end())
    return fail(Code::unavailable, fmt::format("the bucket '{}' does not exist", place.name), "open it again");
  return &found->second;
}

Task<Result<std::optional<KvEntry>>> get_memory(MemoryPlace place, std::string key) {
  CO_CHECKED(check_subject(key));
  CO_CHECKED(co_await pass(place, "read"));
  CO_TRY(MemoryBucket * bucket, find_bucket(place));
  std::optional<KvEntry> entry;
  const auto found = bucket->values.find(key);
  if (found != bucket->values.end() && !found->second.removed) {
    entry.emplace();
    entry->bytes = found->second.bytes;
    entry->revision = found->second.revision;
  }
  co_return entry;
}

Task<Result<KvWrite>> write_memory(MemoryPlace place, MemoryWrite wanted) {
  CO_CHECKED(check_subject(wanted.key));
  if (wanted.bytes.size() > place.settings.max_value_bytes)
    co_return too_large_error(wanted.key, wanted.bytes.size(), place.settings.max_value_bytes);
  CO_CHECKED(co_await pass(place, "write"));
  KvWrite outcome;
  {
    CO_TRY(MemoryBucket * bucket, find_bucket(place));
    const auto found = bucket->values.find(wanted.key);
    const bool absent = found == bucket->values.end();
    const uint64_t last = absent || (wanted.creates && found->second.removed) ? 0 : found->second.revision;
    if (wanted.expected && *wanted.expected != last) co_return outcome;
    place.core->store(place.name, wanted.key, std::move(wanted.bytes), wanted.removes);
    outcome.written = true;
    outcome.revision = bucket->revision;
  }
  CO_CHECKED(co_await pass(place, "write"));  // the answer may be lost, too
  co_return outcome;
}

Task<Result<uint64_t>> put_memory(MemoryPlace place, MemoryWrite wanted) {
  CO_TRY(const KvWrite outcome, co_await write_memory(std::move(place), std::move(wanted)));
  co_return outcome.revision;
}

Task<Result<std::vector<std::string>>> list_memory(MemoryPlace place) {
  CO_CHECKED(co_await pass(place, "list"));
  CO_TRY(const MemoryBucket* bucket, find_bucket(place));
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
  explicit MemoryBucketClient(MemoryPlace place) : place_(std::move(place)) {}
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
    changes->value(entry.first, entry.second.bytes, revision, entry.second.made);
  changes->end_all();
}

void MemoryBroker::Core::store(const std::string& name, const std::string& key, std::string bytes, bool removed) {
  MemoryBucket& bucket = buckets[name];
  MemoryBucket::Value& value = bucket.values[key];
  value = {std::move(bytes), ++bucket.revision, ++made, removed};
  std::erase_if(watchers, [](const MemoryWatcher& watcher) { return watcher.changes.expired(); });
  for (const MemoryWatcher& watcher : watchers) {
    if (watcher.bucket != name || !matches(watcher.filter, key) || !reaches(watcher)) continue;
    const auto changes = watcher.changes.lock();
    if (removed)
      changes->removed(key, value.revision);
    else
      changes->value(key, value.bytes, value.revision, value.made);
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
  MemoryPlace place;
  place.core = std::move(core);
  place.client = std::move(client);
  place.name = std::move(name);
  place.settings = settings;
  place.limit = limit;
  CO_CHECKED(co_await pass(place, "open the bucket"));
  place.core->buckets.try_emplace(place.name).first->second.settings = settings;
  co_return std::unique_ptr<KvBucket>(std::make_unique<MemoryBucketClient>(std::move(place)));
}

}  // namespace cluster
