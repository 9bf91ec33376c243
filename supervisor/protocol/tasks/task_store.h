// TaskStore: the tasks of all tenants: calls that go on after their client was answered, with the results of those that
// have ended. It has no knowledge of calls, tools or the protocol: it keeps names, states and result texts.
// TaskDisk: where the rows and results are written. The state of each task is in memory; results are only on the disk.
//
// A task exists for its client from begin() on, which returns when its row is committed. After a restart, load() ends
// each task that had not ended. A task is removed when its time to live is over and it has ended, or earlier, oldest
// first, when its tenant needs room for a new one.
//
// Source: mcp::TaskCalls (tasks of the protocol), tools/execution (executions in the background). Runs on the loop.
// Errors of begin(): exhausted, the tenant has too many tasks that have not ended; those of the disk.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/elapsed_clock.h"
#include "supervisor/base/loop.h"
#include "supervisor/base/result.h"
#include "supervisor/base/system_time.h"
#include "supervisor/base/task.h"
#include "supervisor/protocol/tasks/task_state.h"

namespace tasks {

// call: a request of the protocol, found by its principal. background: an execution, found by its tenant.
enum class TaskKind { call, background };
std::string_view kind_name(TaskKind kind);
std::optional<TaskKind> find_kind(std::string_view name);

struct TaskOwner {
  std::string tenant;     // TenantId::text(): "acme", "acme/reports"; all workspaces of an account share its limits
  std::string principal;  // Principal::name()
  bool operator==(const TaskOwner&) const = default;
};

struct StoredTask {
  std::string id;
  TaskOwner owner;
  TaskKind kind = TaskKind::call;
  TaskState state = TaskState::working;
  int64_t created_ms = 0, updated_ms = 0;  // since 1970
  int64_t ttl_ms = 0;                      // from `created_ms`
  int64_t expires_ms = 0;                  // retention time (base/elapsed_clock.h) of the removal of its result
  uint64_t result_bytes = 0;
  bool is_error = false;      // the result says that the call failed: isError of a tool's result
  std::string digest;         // of the request, if its owner wants to know it again; empty: it does not
  bool is_last_slot = false;  // set by begin(): the tenant's next task removes its oldest result before its time
};

// The sentence for clients when StoredTask::is_last_slot.
constexpr std::string_view kLastSlot =
    "this tenant has as many tasks as are stored: each further one removes the oldest result, also before its time";

class TaskDisk {
 public:
  virtual ~TaskDisk() = default;
  // Each returns when it is committed. Calls are done in their order.
  virtual Task<Result<>> add(StoredTask task) = 0;
  virtual Task<Result<>> end(StoredTask task, std::string result) = 0;
  // Errors: not_found.
  virtual Task<Result<std::string>> result(std::string id) = 0;
  // Queued.
  virtual void remove(std::vector<std::string> ids) = 0;
};

struct TaskLimits {
  size_t tasks = 4096;                // of all tenants
  size_t tasks_of_tenant = 256;       // running and ended
  size_t running_of_tenant = 64;      // that have not ended
  size_t result_bytes = 1 << 20;      // of one result
  size_t bytes_of_tenant = 16 << 20;  // of all results of a tenant
  size_t bytes = 256 << 20;           // of all results
  std::chrono::milliseconds default_ttl{3'600'000}, min_ttl{60'000}, max_ttl{86'400'000};
  std::chrono::milliseconds sweep_every{30'000};
};

struct NewTask {
  TaskKind kind = TaskKind::call;
  TaskOwner owner;
  std::string id = {};                 // empty: a new one of 128 random bits
  std::optional<int64_t> ttl_ms = {};  // brought into the limits
  std::string digest = {};             // StoredTask::digest
};

struct TaskCounts {
  size_t running = 0, ended = 0;
  uint64_t result_bytes = 0;
};

class TaskStore {
 public:
  using Clock = std::function<int64_t()>;  // milliseconds
  // Both references must outlive the store. `retention` decides which tasks have expired; `now` is for people.
  TaskStore(Loop& loop, TaskDisk& disk, TaskLimits limits = {}, Clock now = system_now_ms,
            Clock retention = retention_now_ms);
  TaskStore(const TaskStore&) = delete;
  TaskStore& operator=(const TaskStore&) = delete;

  // The rows that an earlier daemon left. A task that has not ended becomes `completed` with the text that
  // `interrupted` returns, as an error. Call it before the first begin(). Returns how many were interrupted.
  size_t load(std::vector<StoredTask> rows, const std::function<std::string(const StoredTask&)>& interrupted);

  // Returns when the row is committed. If the returned task is destroyed before, the row is removed,
  // unless the task has ended by then.
  Task<Result<StoredTask>> begin(NewTask task);
  // Announces the id of a task that begins soon, or never: then give_up() it. Its client knows the id already. Its
  // owner is not known yet, so is_expected() is true for whoever has the id, which cannot be guessed.
  void expect(std::string id) { expected_.insert(std::move(id)); }
  void give_up(const std::string& id) { expected_.erase(id); }
  bool is_expected(const std::string& id) const { return expected_.contains(id); }
  // nullptr: unknown, or another owner's. A pointer is valid until the next call that is not const.
  const StoredTask* find(std::string_view id, const TaskOwner& owner) const;
  const StoredTask* find_of_tenant(std::string_view id, std::string_view tenant) const;
  // Tasks of this kind and owner, oldest first.
  std::vector<StoredTask> list(TaskKind kind, const TaskOwner& owner) const;
  // No effect on a task that has ended, or is unknown.
  void set_waits_for_input(std::string_view id, bool waits);
  // Ends a task. False: it had ended before, or is unknown; then its result stays. A result that is too large is not
  // kept: result() says so. Its owner shortens it before. `is_error`: of StoredTask.
  bool end(std::string_view id, TaskState state, std::string result, bool is_error = false);
  // Errors: not_found: the task is unknown; exhausted: it was too large; those of the disk.
  Task<Result<std::string>> result(std::string id);
  // Fires when the task ends or is removed; nullptr: it has ended, or is unknown. One waiter for each event.
  std::shared_ptr<Event> when_ended(std::string_view id);
  void forget(std::string_view id);
  // All tasks of a tenant that was removed, with those of its workspaces, or of one named workspace.
  void forget_of(const std::string& tenant);

  // Moves of a tenant's workspace to another machine. ended_of(): its tasks that have ended, without those of its named
  // workspaces. adopt(): a task of another machine with its result; no effect if its id is known. Errors: exhausted.
  std::vector<StoredTask> ended_of(const std::string& tenant) const;
  Task<Result<>> adopt(StoredTask task, std::string result);

  // Called after each change of a task's state. It must return at once.
  void on_change(std::function<void(const StoredTask&)> changed) { changed_ = std::move(changed); }
  TaskCounts counts() const;
  const TaskLimits& limits() const { return limits_; }

 private:
  struct Entry {
    StoredTask task;
    bool too_large = false;
    std::shared_ptr<const std::string> unwritten;  // the result, until it is committed
    std::vector<std::weak_ptr<Event>> waiting;
  };
  struct Share {  // of one account
    size_t running = 0, ended = 0;
    uint64_t bytes = 0;
  };
  using Entries = std::map<std::string, Entry, std::less<>>;
  class Beginning;

  void insert(StoredTask task);
  Result<> make_room(const std::string& account, uint64_t bytes, size_t more);
  // `for_bytes`: only one whose result takes room.
  bool remove_oldest_ended(std::string_view account, bool for_bytes);
  std::string largest_account() const;
  void remove(Entries::iterator match);
  void wake(Entry& entry);
  Task<> write_end(std::string id, StoredTask task, std::shared_ptr<const std::string> result);
  void sweep();
  void sweep_later();

  Loop& loop_;
  TaskDisk& disk_;
  const TaskLimits limits_;
  const Clock now_, retention_;
  int64_t last_started_ms_ = 0;  // no two tasks begin in one millisecond: the times are their order
  Entries entries_;
  std::map<std::string, Share, std::less<>> shares_;
  std::set<std::string> expected_;
  std::multimap<int64_t, std::string> ended_;  // by `updated_ms`: the id of each task that has ended
  uint64_t bytes_ = 0;
  std::function<void(const StoredTask&)> changed_;
  std::optional<Deadline> sweeping_;
  Scope writing_;  // last: cancelled first
};

// MemoryTaskDisk: for programs without a disk, such as test servers.
class MemoryTaskDisk : public TaskDisk {
 public:
  Task<Result<>> add(StoredTask task) override;
  Task<Result<>> end(StoredTask task, std::string result) override;
  Task<Result<std::string>> result(std::string id) override;
  void remove(std::vector<std::string> ids) override;

 private:
  std::map<std::string, std::string> results_;
};

}  // namespace tasks
