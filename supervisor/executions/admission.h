// Admission: how many executions run at once, of one connection, of one tenant and in all, and who waits.
// Each connection has a line of its own, first come, first served. A free place goes to the tenant, and there to the
// connection, that has waited longest for one: a thousand calls of one do not hold up the single call of another.
// Source of the limits: policies::Policy. Errors: exhausted, with the numbers and rule "admission.queued_executions".
#pragma once
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "policies/policy.h"
#include "supervisor/base/loop.h"

namespace executions {

class Admission {
 public:
  Admission(Loop& loop, uint32_t most_in_all) : loop_(loop), most_in_all_(most_in_all) {}

  struct Asker {
    std::string tenant;
    const void* connection = nullptr;  // tells the tenant's connections apart; nothing is read there
  };

  // The right to run one execution; given back when it is destroyed.
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

  // Waits for a place, under a name that is its own. Cancelling leaves the queue. A quarter of the tenant's queue is
  // kept free for its other connections.
  Task<Result<Permit>> enter(Asker asker, const policies::Policy& policy, std::string name = std::string());
  // Whoever waits under that name is refused (denied); nobody does: nothing.
  void withdraw(const std::string& name);
  // Whoever waits or comes from now on is refused with that error. What runs goes on.
  void close(Error why);

  bool is_closed() const { return closed_.has_value(); }

  uint32_t running() const { return running_; }
  uint32_t running_of(const std::string& tenant) const;
  size_t waiting() const;

 private:
  struct Waiting {
    Asker asker;
    uint32_t most = 0, most_of_connection = 0;
    std::string name;
    Event decided;
    std::optional<Error> refusal;
    bool counted = false;  // holds a place already
  };
  struct Line {
    const void* connection = nullptr;
    uint32_t running = 0;
    std::deque<std::shared_ptr<Waiting>> waiting;
  };
  struct Tenant {
    std::string name;
    uint32_t running = 0;
    size_t waiting = 0;
    std::list<Line> lines;  // the one whose turn it is first
  };
  struct Place {
    std::list<Tenant>::iterator tenant;
    std::list<Line>::iterator line;
  };
  Place place_of(const Asker& asker);
  void forget_unused(const Place& place);
  std::optional<Place> next();
  void admit_waiting();
  void count(const Place& place);
  void leave(const Asker& asker);
  void remove(const std::shared_ptr<Waiting>& waiting);
  void refuse(const std::shared_ptr<Waiting>& waiting, Error why);

  Loop& loop_;
  uint32_t most_in_all_;
  uint32_t running_ = 0;
  std::list<Tenant> tenants_;  // those that run or wait, the one whose turn it is first
  std::map<std::string, std::list<Tenant>::iterator, std::less<>> by_name_;
  std::optional<Error> closed_;
};

}  // namespace executions
