#include "supervisor/tools/admission.h"

#include <fmt/format.h>

#include <algorithm>

namespace tools {

uint32_t Admission::running_of(const std::string& tenant) const {
  auto it = of_tenant_.find(tenant);
  return it == of_tenant_.end() ? 0 : it->second;
}

bool Admission::has_room(const std::string& tenant, uint32_t most) const {
  return running_ < most_in_all_ && running_of(tenant) < most;
}

void Admission::count(const std::string& tenant) {
  running_++;
  of_tenant_[tenant]++;
}

Task<Result<Admission::Permit>> Admission::enter(std::string tenant, const policies::Policy& policy, std::string name) {
  auto waits_already = std::count_if(queue_.begin(), queue_.end(), [&](const auto& w) { return w->tenant == tenant; });
  if (waits_already == 0 && has_room(tenant, policy.concurrent_executions)) {
    count(tenant);
    co_return Permit(*this, std::move(tenant));
  }
  if (static_cast<uint32_t>(waits_already) >= policy.queued_executions)
    co_return fail(
        Code::exhausted,
        fmt::format("tenant '{}' runs {} executions and {} more wait", tenant, running_of(tenant), waits_already),
        "wait for one to end, or ask the administrator to raise admission.concurrent_executions",
        "admission.concurrent_executions");
  auto waiting = std::make_shared<Waiting>();
  waiting->tenant = tenant;
  waiting->name = std::move(name);
  waiting->most = policy.concurrent_executions;
  queue_.push_back(waiting);
  struct Leave {  // on cancellation: out of the queue, or the place back that nobody took
    Admission& admission;
    std::shared_ptr<Waiting> waiting;
    bool taken = false;
    ~Leave() {
      if (taken) return;
      if (waiting->counted) {
        admission.leave(waiting->tenant);
      } else {
        std::erase(admission.queue_, waiting);
      }
    }
  } guard{*this, waiting};
  co_await waiting->admitted;
  guard.taken = true;
  if (waiting->withdrawn) co_return fail(Code::denied, "cancelled by an administrator while it waited for its turn");
  co_return Permit(*this, std::move(tenant));
}

void Admission::withdraw(const std::string& name) {
  auto found = std::find_if(queue_.begin(), queue_.end(), [&](const auto& waiting) { return waiting->name == name; });
  if (found == queue_.end()) return;
  auto waiting = *found;
  queue_.erase(found);
  waiting->withdrawn = true;
  loop_.defer([waiting] { waiting->admitted.fire(); });
}

void Admission::leave(const std::string& tenant) {
  running_--;
  if (auto it = of_tenant_.find(tenant); it != of_tenant_.end() && --it->second == 0) of_tenant_.erase(it);
  loop_.defer([this] { admit_waiting(); });  // not now: this runs in destructors of other tasks
}

void Admission::admit_waiting() {
  for (;;) {
    auto next = std::find_if(queue_.begin(), queue_.end(), [&](const auto& w) { return has_room(w->tenant, w->most); });
    if (next == queue_.end()) return;
    auto waiting = *next;
    queue_.erase(next);
    count(waiting->tenant);
    waiting->counted = true;
    waiting->admitted.fire();
  }
}

}  // namespace tools
