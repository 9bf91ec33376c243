#include "supervisor/cluster/bus/kv_changes.h"

#include <fmt/format.h>

#include <utility>

namespace cluster {
namespace {

constexpr size_t kKeyOverhead = 128;  // bytes that a key takes beside itself, known or unread

}  // namespace

void KvChanges::begin_all() { reported_.emplace(); }

void KvChanges::end_all() {
  const auto report = std::exchange(reported_, std::nullopt);
  std::set<std::string> missing;
  for (const auto& [key, known] : keys_)
    if (report && !report->contains(key)) missing.insert(key);
  for (const std::string& key : missing) removed(key, 0);
  if (has_unread_current_) std::erase(order_, std::string());  // it comes behind the latest changes
  has_unread_current_ = true;
  order_.emplace_back();
  wake();
}

void KvChanges::value(std::string key, std::string bytes, uint64_t revision, uint64_t count) {
  if (reported_) reported_->insert(key);
  const auto [slot, is_new] = keys_.try_emplace(key, KeyState{revision, count});
  if (is_new) bytes_ += key.size() + kKeyOverhead;
  if (!is_new && slot->second.revision == revision && slot->second.produced == count) return;
  slot->second = KeyState{revision, count};
  KvChange change;
  change.key = std::move(key);
  change.bytes = std::move(bytes);
  change.revision = revision;
  add(std::move(change));
}

void KvChanges::removed(const std::string& key, uint64_t revision) {
  if (reported_) reported_->erase(key);
  if (keys_.erase(key) == 0) return;
  bytes_ -= key.size() + kKeyOverhead;
  KvChange change;
  change.kind = KvChange::Kind::removed;
  change.key = key;
  change.revision = revision;
  add(std::move(change));
}

void KvChanges::add(KvChange change) {
  const auto [slot, is_new] = unread_.try_emplace(change.key);
  if (is_new) {
    order_.push_back(change.key);
    bytes_ += change.key.size() + kKeyOverhead;
  }
  bytes_ += change.bytes.size();
  bytes_ -= slot->second.bytes.size();
  slot->second = std::move(change);
  if (bytes_ > max_bytes_)
    end(Error{Code::exhausted, 0, fmt::format("the bucket '{}' has more than {} bytes to watch", bucket_, max_bytes_),
              "read faster, or raise max_watched_bytes"});
  wake();
}

void KvChanges::end(Error why) {
  if (!ended_) ended_ = std::move(why);
  wake();
}

std::optional<KvChange> KvChanges::take() {
  if (order_.empty()) return std::nullopt;
  const std::string key = std::move(order_.front());
  order_.pop_front();
  KvChange change;
  change.kind = KvChange::Kind::current;
  if (key.empty()) {
    has_unread_current_ = false;
    return change;
  }
  const auto it = unread_.find(key);
  change = std::move(it->second);
  unread_.erase(it);
  bytes_ -= key.size() + kKeyOverhead + change.bytes.size();
  return change;
}

Task<Result<KvChange>> KvChanges::next(std::shared_ptr<KvChanges> changes) {
  for (;;) {
    if (changes->ended_) co_return tl::unexpected<Error>(*changes->ended_);
    if (std::optional<KvChange> change = changes->take()) co_return *std::move(change);
    OneShot<> arrival(changes->loop_);
    changes->reader_ = arrival.resolver();
    co_await arrival;
  }
}

}  // namespace cluster
