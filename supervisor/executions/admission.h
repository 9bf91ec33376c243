// Admission: limits how many executions run at once, for each connection, for each tenant and in all; others wait.
// Each connection has its own line, first come, first served. Tenants take turns, and so do the connections of one
// tenant: after a place it is the last to get another. So 1,000 calls of one tenant do not hold up another's one call.
// Source: the policy's limits; the constructor's limit for all. Used by: code_execution.cc, fan_out.cc,
// tenant_skills.h. Errors: exhausted, with the numbers and rule "admission.queued_executions"; denied after withdraw();
// that of close().
#pragma once
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "policies/policy_fwd.h"
#include "supervisor/base/loop.h"
#include "supervisor/base/one_shot.h"

namespace executions {

class Admission {
 public:
  Admission(Loop& loop, uint32_t max_in_all) : loop_(loop), max_in_all_(max_in_all) {}

  struct Asker {
    std::string tenant;
    const void* connection = nullptr;  // only compared, to distinguish the tenant's connections; never read
  };

  // The right to run one execution. The destructor gives it back.
  class [[nodiscard]] Permit {
   public:
    Permit(Admission& admission, Asker asker) : admission_(&admission), asker_(std::move(asker)) {}
    Permit(Permit&& other) noexcept
        : admission_(std::exchange(other.admission_, nullptr)), asker_(std::move(other.asker_)) {}
    Permit& operator=(Permit&&) = delete;
    ~Permit() {
      if (admission_) admission_->leave(asker_);
    }

   private:
    Admission* admission_;
    Asker asker_;
  };

  // Waits for a place. `name`: unique, for withdraw(). After a cancelled call, the caller is out of the line. One
  // connection may fill at most three quarters of its tenant's queue.
  Task<Result<Permit>> enter(Asker asker, const policies::Policy& policy, std::string name = std::string());
  // Refuses (denied) the waiting call with this name. No effect if no call with this name waits.
  void withdraw(const std::string& name);
  // Refuses all waiting and later calls with this error. Running executions continue.
  void close(Error why);

  // `changed` is called when the number of running or waiting executions has changed, from within calls of this class:
  // it must only note it.
  void on_change(std::function<void()> changed) { changed_ = std::move(changed); }
  uint32_t max_in_all() const { return max_in_all_; }
  bool is_closed() const { return closed_.has_value(); }

  uint32_t running() const { return running_; }
  uint32_t running_of(const std::string& tenant) const;
  size_t waiting() const;

 private:
  struct WaitingExecution {
    Asker asker;
    uint32_t max = 0, max_of_connection = 0;
    std::string name;
    OneShot<Result<Permit>>::Resolver decided;
    bool is_in_line = true;
  };
  struct Line {
    const void* connection = nullptr;
    uint32_t running = 0;
    std::deque<std::shared_ptr<WaitingExecution>> waiting;
  };
  struct Tenant {
    std::string name;
    uint32_t running = 0;
    size_t waiting = 0;
    std::list<Line> lines;  // in the order of their turns, the next one first
  };
  struct QueuePosition {
    std::list<Tenant>::iterator tenant;
    std::list<Line>::iterator line;
  };
  struct LineGuard;
  QueuePosition position_of(const Asker& asker);
  void forget_unused(const QueuePosition& position);
  std::optional<QueuePosition> next();
  void admit_soon();
  void note_change() {
    if (changed_) changed_();
  }
  void admit_waiting();
  void count(const QueuePosition& position);
  void leave(const Asker& asker);
  void remove(const std::shared_ptr<WaitingExecution>& waiting);
  void refuse(const std::shared_ptr<WaitingExecution>& waiting, Error why);

  Loop& loop_;
  uint32_t max_in_all_;
  uint32_t running_ = 0;
  std::list<Tenant> tenants_;  // with running or waiting executions, in the order of their turns, the next one first
  std::map<std::string, std::list<Tenant>::iterator, std::less<>> by_name_;
  std::optional<Error> closed_;
  std::function<void()> changed_;
  std::shared_ptr<Admission*> self_ = std::make_shared<Admission*>(this);
};

}  // namespace executions
