#include "supervisor/executions/admission.h"

#include <fmt/format.h>

#include <algorithm>

#include "policies/policy.h"

namespace executions {

uint32_t Admission::running_of(const std::string& tenant) const {
  const auto it = by_name_.find(tenant);
  return it == by_name_.end() ? 0 : it->second->running;
}

size_t Admission::waiting() const {
  size_t all = 0;
  for (const Tenant& tenant : tenants_) all += tenant.waiting;
  return all;
}

Admission::QueuePosition Admission::position_of(const Asker& asker) {
  auto named = by_name_.find(asker.tenant);
  if (named == by_name_.end()) {
    tenants_.push_back(Tenant{asker.tenant, 0, 0, {}});
    named = by_name_.emplace(asker.tenant, std::prev(tenants_.end())).first;
  }
  std::list<Line>& lines = named->second->lines;
  auto line =
      std::find_if(lines.begin(), lines.end(), [&](const Line& item) { return item.connection == asker.connection; });
  if (line == lines.end()) line = lines.insert(lines.end(), Line{asker.connection, 0, {}});
  return {named->second, line};
}

void Admission::forget_unused(const QueuePosition& position) {
  if (position.line->running == 0 && position.line->waiting.empty()) position.tenant->lines.erase(position.line);
  if (!position.tenant->lines.empty()) return;
  by_name_.erase(position.tenant->name);
  tenants_.erase(position.tenant);
}

// The line with the next turn, of the lines that may run an execution now.
std::optional<Admission::QueuePosition> Admission::next() {
  if (running_ >= max_in_all_) return {};
  for (auto tenant = tenants_.begin(); tenant != tenants_.end(); ++tenant) {
    if (tenant->waiting == 0) continue;
    for (auto line = tenant->lines.begin(); line != tenant->lines.end(); ++line) {
      if (line->waiting.empty()) continue;
      const WaitingExecution& first = *line->waiting.front();
      if (tenant->running < first.max && line->running < first.max_of_connection) return QueuePosition{tenant, line};
    }
  }
  return {};
}

// The tenant and the connection that got a place are the last to get another.
void Admission::count(const QueuePosition& position) {
  running_++;
  position.tenant->running++;
  position.line->running++;
  position.tenant->lines.splice(position.tenant->lines.end(), position.tenant->lines, position.line);
  tenants_.splice(tenants_.end(), tenants_, position.tenant);
  note_change();
}

// The call's place in its line. The destructor gives it up, if the call is still there.
struct Admission::LineGuard {
  Admission& admission;
  std::shared_ptr<WaitingExecution> waiting;
  ~LineGuard() { admission.remove(waiting); }
};

Task<Result<Admission::Permit>> Admission::enter(Asker asker, const policies::Policy& policy, std::string name) {
  if (closed_) co_return tl::unexpected<Error>(*closed_);
  const QueuePosition position = position_of(asker);
  const uint32_t limit = policy.queued_executions, max_of_line = limit - limit / 4;
  const bool is_free = running_ < max_in_all_ && position.tenant->running < policy.concurrent_executions &&
                       position.line->running < policy.requests_in_flight;
  if (is_free && position.line->waiting.empty() && !next()) {
    count(position);
    co_return Permit(*this, std::move(asker));
  }
  if (position.tenant->waiting >= limit || position.line->waiting.size() >= max_of_line) {
    auto full = fail(
        Code::exhausted,
        fmt::format("tenant '{}' runs {} executions and {} more wait, {} of this connection; this call did "
                    "not run",
                    asker.tenant, position.tenant->running, position.tenant->waiting, position.line->waiting.size()),
        "wait until some of them end, or ask the administrator to raise admission.queued_executions",
        "admission.queued_executions");
    forget_unused(position);
    co_return full;
  }
  // A permit that comes for a cancelled call is destroyed with `decision`, and gives its place back.
  OneShot<Result<Permit>> decision(loop_, fail(Code::internal, "the queue of executions is gone"));
  auto waiting = std::make_shared<WaitingExecution>();
  waiting->asker = std::move(asker);
  waiting->decided = decision.resolver();
  waiting->name = std::move(name);
  waiting->max = policy.concurrent_executions;
  waiting->max_of_connection = policy.requests_in_flight;
  position.tenant->waiting++;
  position.line->waiting.push_back(waiting);
  note_change();
  const LineGuard guard{*this, waiting};
  auto permit = co_await decision;
  co_return permit;
}

void Admission::remove(const std::shared_ptr<WaitingExecution>& waiting) {
  if (!std::exchange(waiting->is_in_line, false)) return;
  const QueuePosition position = position_of(waiting->asker);
  position.tenant->waiting -= std::erase(position.line->waiting, waiting);
  forget_unused(position);
  note_change();
  admit_soon();  // the next call in this line may have higher limits
}

void Admission::refuse(const std::shared_ptr<WaitingExecution>& waiting, Error why) {
  remove(waiting);
  waiting->decided.resolve(tl::unexpected<Error>(std::move(why)));
}

void Admission::withdraw(const std::string& name) {
  std::shared_ptr<WaitingExecution> execution;
  for (const Tenant& tenant : tenants_)
    for (const Line& line : tenant.lines)
      for (const auto& waiting : line.waiting)
        if (waiting->name == name) execution = waiting;
  if (!execution) return;
  refuse(execution,
         Error{Code::denied, 0, "cancelled by an administrator while it waited for its turn; it did not run", {}, {}});
}

void Admission::close(Error why) {
  closed_ = std::move(why);
  std::vector<std::shared_ptr<WaitingExecution>> all;
  for (const Tenant& tenant : tenants_)
    for (const Line& line : tenant.lines) all.insert(all.end(), line.waiting.begin(), line.waiting.end());
  for (const auto& waiting : all) refuse(waiting, *closed_);
  note_change();
}

void Admission::leave(const Asker& asker) {
  const QueuePosition position = position_of(asker);
  running_--;
  position.tenant->running--;
  position.line->running--;
  forget_unused(position);
  note_change();
  admit_soon();
}

// In a later turn of the loop, because permits are given back in destructors of other tasks. The queue may be gone
// then.
void Admission::admit_soon() {
  loop_.defer([self = std::weak_ptr(self_)] {
    if (const auto alive = self.lock()) (*alive)->admit_waiting();
  });
}

void Admission::admit_waiting() {
  while (const auto position = next()) {
    auto waiting = position->line->waiting.front();
    position->line->waiting.pop_front();
    position->tenant->waiting--;
    count(*position);
    waiting->is_in_line = false;
    waiting->decided.resolve_now(Permit(*this, waiting->asker));
  }
}

}  // namespace executions
