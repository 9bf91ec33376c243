#include "supervisor/protocol/tasks/task_store.h"

#include <fmt/format.h>

#include <algorithm>

#include "policies/tenant_id.h"
#include "supervisor/base/log.h"
#include "supervisor/base/random.h"

namespace tasks {
namespace {

std::string account_of_owner(const TaskOwner& owner) { return std::string(tenants::account_of(owner.tenant)); }

}  // namespace

std::string_view kind_name(TaskKind kind) { return kind == TaskKind::call ? "call" : "background"; }

std::optional<TaskKind> find_kind(std::string_view name) {
  for (const TaskKind kind : {TaskKind::call, TaskKind::background})
    if (kind_name(kind) == name) return kind;
  return {};
}

// Removes the row again, unless its owner learns of it, or another call ended the task meanwhile: that end stays.
class TaskStore::Beginning {
 public:
  Beginning(TaskStore& store, std::string id) : store_(store), id_(std::move(id)) {}
  ~Beginning() {
    if (is_done_) return;
    const auto it = store_.entries_.find(id_);
    if (it != store_.entries_.end() && !is_ended(it->second.task.state)) store_.forget(id_);
  }
  Beginning(const Beginning&) = delete;
  Beginning& operator=(const Beginning&) = delete;
  void done() { is_done_ = true; }

 private:
  TaskStore& store_;
  std::string id_;
  bool is_done_ = false;
};

TaskStore::TaskStore(Loop& loop, TaskDisk& disk, TaskLimits limits, Clock now, Clock retention)
    : loop_(loop),
      disk_(disk),
      limits_(limits),
      now_(std::move(now)),
      retention_(std::move(retention)),
      writing_(loop) {}

size_t TaskStore::load(std::vector<StoredTask> rows, const std::function<std::string(const StoredTask&)>& interrupted) {
  size_t count = 0;
  for (StoredTask& row : rows) {
    const std::string id = row.id;
    const bool has_ended = is_ended(row.state);
    insert(std::move(row));
    if (has_ended) continue;
    count++;
    const std::string text = interrupted(entries_.find(id)->second.task);
    end(id, TaskState::completed, text, true);
  }
  sweep();
  return count;
}

void TaskStore::insert(StoredTask task) {
  Share& share = shares_[account_of_owner(task.owner)];
  if (is_ended(task.state)) {
    share.ended++;
    share.bytes += task.result_bytes;
    bytes_ += task.result_bytes;
    ended_.emplace(task.updated_ms, task.id);
  } else {
    share.running++;
  }
  std::string id = task.id;
  entries_.emplace(std::move(id), Entry{std::move(task), false, nullptr, {}});
}

Task<Result<StoredTask>> TaskStore::begin(NewTask new_task) {
  const std::string account = account_of_owner(new_task.owner);
  CO_CHECKED(make_room(account, 0, 1));
  StoredTask task;
  task.id = new_task.id.empty() ? "t" + random_hex(16) : std::move(new_task.id);
  if (entries_.contains(task.id)) co_return fail(Code::invalid, fmt::format("task '{}' exists already", task.id));
  expected_.erase(task.id);
  task.owner = std::move(new_task.owner);
  task.kind = new_task.kind;
  task.digest = std::move(new_task.digest);
  task.created_ms = task.updated_ms = last_started_ms_ = std::max(now_(), last_started_ms_ + 1);
  task.ttl_ms = std::clamp<int64_t>(new_task.ttl_ms.value_or(limits_.default_ttl.count()), limits_.min_ttl.count(),
                                    limits_.max_ttl.count());
  task.expires_ms = retention_() + task.ttl_ms;
  insert(task);
  const Share& share = shares_[account];
  task.is_last_slot = share.running + share.ended >= limits_.tasks_of_tenant && share.ended > 0;
  if (!sweeping_) sweep_later();
  Beginning beginning(*this, task.id);
  auto written = co_await disk_.add(task);
  if (!written) co_return tl::unexpected<Error>(std::move(written).error());
  if (!entries_.contains(task.id)) co_return fail(Code::unavailable, "the tenant was removed");
  beginning.done();
  co_return task;
}

// Removes ended tasks until `more` tasks, or `bytes` of results, have room.
Result<> TaskStore::make_room(const std::string& account, uint64_t bytes, size_t more) {
  const auto it = shares_.find(account);
  const Share none;
  const Share* share = it == shares_.end() ? &none : &it->second;
  if (more > 0 && share->running >= limits_.running_of_tenant)
    return fail(Code::exhausted,
                fmt::format("tenant '{}' already has {} tasks that have not ended; the limit is {}", account,
                            share->running, limits_.running_of_tenant),
                "wait for one to end, or cancel one");
  auto has_many = [&] { return share->running + share->ended + more > limits_.tasks_of_tenant; };
  auto is_over = [&] { return has_many() || share->bytes + bytes > limits_.bytes_of_tenant; };
  while (is_over() && remove_oldest_ended(account, !has_many())) {
    if (!shares_.contains(account)) share = &none;
  }
  if (more > 0 && is_over())
    return fail(Code::exhausted,
                fmt::format("tenant '{}' has {} tasks; the limit is {}", account, share->running + share->ended,
                            limits_.tasks_of_tenant),
                "wait for one to end, or cancel one");
  while (entries_.size() + more > limits_.tasks || bytes_ + bytes > limits_.bytes) {
    if (remove_oldest_ended(largest_account(), entries_.size() + more <= limits_.tasks)) continue;
    if (more == 0) break;
    return fail(Code::exhausted,
                fmt::format("{} tasks of all tenants have not ended; the limit is {}", entries_.size(), limits_.tasks),
                "try again later");
  }
  return {};
}

// The account with most ended tasks or most bytes of results, each as a share of its limit.
std::string TaskStore::largest_account() const {
  std::string largest;
  double max = 0;
  for (const auto& [account, share] : shares_) {
    if (share.ended == 0) continue;
    const double part = static_cast<double>(share.ended) / static_cast<double>(limits_.tasks_of_tenant) +
                        static_cast<double>(share.bytes) / static_cast<double>(limits_.bytes_of_tenant);
    if (part > max) max = part, largest = account;
  }
  return largest;
}

bool TaskStore::remove_oldest_ended(std::string_view account, bool for_bytes) {
  for (const auto& [at, id] : ended_) {
    const auto it = entries_.find(id);
    const StoredTask& task = it->second.task;
    if (account_of_owner(task.owner) != account || (for_bytes && task.result_bytes == 0)) continue;
    remove(it);  // also from `ended_`
    return true;
  }
  return false;
}

void TaskStore::remove(Entries::iterator match) {
  auto node = entries_.extract(match);
  const StoredTask& task = node.mapped().task;
  const auto share = shares_.find(account_of_owner(task.owner));
  if (is_ended(task.state)) {
    share->second.ended--;
    share->second.bytes -= task.result_bytes;
    bytes_ -= task.result_bytes;
    const auto [first, last] = ended_.equal_range(task.updated_ms);
    const auto it = std::find_if(first, last, [&](const auto& item) { return item.second == task.id; });
    if (it != last) ended_.erase(it);
  } else {
    share->second.running--;
  }
  if (share->second.running + share->second.ended == 0) shares_.erase(share);
  disk_.remove({task.id});
  wake(node.mapped());
}

// Later: the waiting task may be the caller's own.
void TaskStore::wake(Entry& entry) {
  for (const auto& item : std::exchange(entry.waiting, {})) {
    loop_.defer([item] {
      if (const auto event = item.lock()) event->fire();
    });
  }
}

const StoredTask* TaskStore::find(std::string_view id, const TaskOwner& owner) const {
  const auto it = entries_.find(id);
  return it != entries_.end() && it->second.task.owner == owner ? &it->second.task : nullptr;
}

const StoredTask* TaskStore::find_of_tenant(std::string_view id, std::string_view tenant) const {
  const auto it = entries_.find(id);
  return it != entries_.end() && it->second.task.owner.tenant == tenant ? &it->second.task : nullptr;
}

std::vector<StoredTask> TaskStore::list(TaskKind kind, const TaskOwner& owner) const {
  std::vector<StoredTask> all;
  for (const auto& [id, entry] : entries_)
    if (entry.task.kind == kind && entry.task.owner == owner) all.push_back(entry.task);
  std::sort(all.begin(), all.end(), [](const StoredTask& a, const StoredTask& b) {
    return std::tie(a.created_ms, a.id) < std::tie(b.created_ms, b.id);
  });
  return all;
}

void TaskStore::set_waits_for_input(std::string_view id, bool waits) {
  const auto it = entries_.find(id);
  if (it == entries_.end()) return;
  StoredTask& task = it->second.task;
  const TaskState state = waits ? TaskState::input_required : TaskState::working;
  if (!may_follow(task.state, state)) return;
  task.state = state;
  task.updated_ms = now_();
  if (changed_) changed_(task);
}

bool TaskStore::end(std::string_view id, TaskState state, std::string result, bool is_error) {
  auto it = entries_.find(id);
  if (it == entries_.end() || !is_ended(state) || !may_follow(it->second.task.state, state)) return false;
  Entry& entry = it->second;
  entry.too_large = result.size() > limits_.result_bytes;
  if (entry.too_large) result.clear();
  const std::string account = account_of_owner(entry.task.owner);
  static_cast<void>(make_room(account, result.size(), 0));  // a task that has not ended is never removed
  Share& share = shares_[account];
  share.running--, share.ended++;
  share.bytes += result.size();
  bytes_ += result.size();
  StoredTask& task = entry.task;
  task.state = state;
  task.updated_ms = now_();
  task.expires_ms = std::max(task.expires_ms, retention_() + limits_.min_ttl.count());
  task.result_bytes = result.size();
  task.is_error = is_error;
  ended_.emplace(task.updated_ms, task.id);
  entry.unwritten = std::make_shared<const std::string>(std::move(result));
  wake(entry);
  writing_.spawn(write_end(task.id, task, entry.unwritten));
  if (changed_) changed_(task);
  return true;
}

// If the disk fails, the result stays in memory until it is removed.
Task<> TaskStore::write_end(std::string id, StoredTask task, std::shared_ptr<const std::string> result) {
  auto written = co_await disk_.end(std::move(task), *result);
  const auto it = entries_.find(id);
  if (!written) {
    log_warning("the end of task {} was not written: {}", id, written.error().what);
    co_return;
  }
  if (it != entries_.end() && it->second.unwritten == result) it->second.unwritten = nullptr;
}

Task<Result<std::string>> TaskStore::result(std::string id) {
  const auto it = entries_.find(id);
  if (it == entries_.end()) co_return fail(Code::not_found, "this task is not known");
  const Entry& entry = it->second;
  if (entry.too_large)
    co_return fail(Code::exhausted,
                   fmt::format("the result was larger than {} bytes and was not kept", limits_.result_bytes),
                   "return less, or write it to a file in the workspace");
  if (entry.unwritten) co_return *entry.unwritten;
  auto text = co_await disk_.result(std::move(id));
  co_return text;
}

std::shared_ptr<Event> TaskStore::when_ended(std::string_view id) {
  const auto it = entries_.find(id);
  if (it == entries_.end() || is_ended(it->second.task.state)) return nullptr;
  auto event = std::make_shared<Event>();
  std::erase_if(it->second.waiting, [](const auto& item) { return item.expired(); });
  it->second.waiting.push_back(event);
  return event;
}

void TaskStore::forget(std::string_view id) {
  if (const auto it = entries_.find(id); it != entries_.end()) remove(it);
}

std::vector<StoredTask> TaskStore::ended_of(const std::string& tenant) const {
  std::vector<StoredTask> tasks;
  for (const auto& [id, entry] : entries_)
    if (entry.task.owner.tenant == tenant && is_ended(entry.task.state) && !entry.too_large)
      tasks.push_back(entry.task);
  return tasks;
}

Task<Result<>> TaskStore::adopt(StoredTask task, std::string result) {
  if (entries_.contains(task.id) || !is_ended(task.state)) co_return Result<>{};
  if (result.size() > limits_.result_bytes) co_return fail(Code::exhausted, "the result is too large");
  task.result_bytes = result.size();
  CO_CHECKED(make_room(account_of_owner(task.owner), result.size(), 1));
  insert(task);
  if (!sweeping_) sweep_later();
  CO_CHECKED(co_await disk_.add(task));
  co_return co_await disk_.end(std::move(task), std::move(result));
}

void TaskStore::forget_of(const std::string& tenant) {
  for (auto it = entries_.begin(); it != entries_.end();) {
    const auto next = std::next(it);
    const std::string& owner = it->second.task.owner.tenant;
    if (owner == tenant || owner.starts_with(tenant + "/")) remove(it);
    it = next;
  }
}

TaskCounts TaskStore::counts() const { return {entries_.size() - ended_.size(), ended_.size(), bytes_}; }

void TaskStore::sweep_later() {
  sweeping_.emplace(loop_, limits_.sweep_every, [this] { sweep(); });
}

// A task that ended after its time to live stays for the shortest time to live.
void TaskStore::sweep() {
  const int64_t now = retention_();
  std::vector<std::string> old;
  for (const auto& [id, entry] : entries_) {
    const StoredTask& task = entry.task;
    if (is_ended(task.state) && task.expires_ms <= now && !is_removal_by_age_paused()) old.push_back(id);
  }
  for (const auto& id : old) forget(id);
  if (entries_.empty()) {
    sweeping_.reset();
  } else {
    sweep_later();
  }
}

Task<Result<>> MemoryTaskDisk::add(StoredTask) { co_return Result<>(); }

Task<Result<>> MemoryTaskDisk::end(StoredTask task, std::string result) {
  results_[task.id] = std::move(result);
  co_return Result<>();
}

Task<Result<std::string>> MemoryTaskDisk::result(std::string id) {
  const auto it = results_.find(id);
  if (it == results_.end()) co_return fail(Code::not_found, "no result of this task is stored");
  co_return it->second;
}

void MemoryTaskDisk::remove(std::vector<std::string> ids) {
  for (const auto& id : ids) results_.erase(id);
}

}  // namespace tasks
