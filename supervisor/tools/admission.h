// Admission: how many executions run at once, of one tenant and in all, and who waits. First come, first served
// within a tenant; a tenant at its limit does not hold up another.
// Source of the limits: policies::Policy. Errors: exhausted, with the numbers and rule
// "admission.concurrent_executions".
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <string>

#include "policies/policy.h"
#include "supervisor/base/loop.h"

namespace tools {

class Admission {
 public:
  Admission(Loop& loop, uint32_t most_in_all) : loop_(loop), most_in_all_(most_in_all) {}

  // The right to run one execution; given back when it is destroyed.
  class [[nodiscard]] Permit {
   public:
    Permit(Admission& admission, std::string tenant) : admission_(&admission), tenant_(std::move(tenant)) {}
    Permit(Permit&& other) noexcept
        : admission_(std::exchange(other.admission_, nullptr)), tenant_(std::move(other.tenant_)) {}
    Permit& operator=(Permit&&) = delete;
    ~Permit() {
      if (admission_) admission_->leave(tenant_);
    }

   private:
    Admission* admission_;
    std::string tenant_;
  };

  // Waits for a place, under a name that is its own. Cancelling leaves the queue.
  Task<Result<Permit>> enter(std::string tenant, const policies::Policy& policy, std::string name = std::string());
  // Whoever waits under that name is refused (denied); nobody does: nothing.
  void withdraw(const std::string& name);

  uint32_t running() const { return running_; }
  uint32_t running_of(const std::string& tenant) const;

 private:
  struct Waiting {
    std::string tenant;
    uint32_t most;
    Event admitted;
    std::string name;
    bool withdrawn = false;
    bool counted = false;  // holds a place already
  };
  void leave(const std::string& tenant);
  void admit_waiting();
  bool has_room(const std::string& tenant, uint32_t most) const;
  void count(const std::string& tenant);

  Loop& loop_;
  uint32_t most_in_all_;
  uint32_t running_ = 0;
  std::map<std::string, uint32_t> of_tenant_;
  std::deque<std::shared_ptr<Waiting>> queue_;
};

}  // namespace tools
