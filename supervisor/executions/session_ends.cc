// The end of sessions: by a call, by a rule, by the daemon; and the proposal that a staged session leaves.
#include <fmt/format.h>

#include <algorithm>

#include "policies/policy.h"
#include "policies/tenant_id.h"
#include "supervisor/base/log.h"
#include "supervisor/executions/session_entry.h"
#include "supervisor/executions/session_log.h"
#include "supervisor/tenants/proposals/proposal_stores.h"
#include "supervisor/tenants/sessions.h"
#include "supervisor/tenants/tenant.h"

namespace executions {
namespace {

using namespace std::chrono_literals;

constexpr size_t kMaxEndedSessions = 64;  // ends of one tenant's sessions that are stored for their next calls
constexpr auto kTendEvery = 1s;
constexpr auto kSettledEvery = 10ms;

}  // namespace

Task<Result<Sessions::Ended>> Sessions::end(Ask ask) {
  CO_CHECKED(tenants::check_session_id(ask.name));
  ask.begin = Begin::anew;
  const Key key{ask.tenant->name(), ask.name};
  CO_CHECKED(co_await wait_turn(key, ask));
  (void)check_ended(key, ask);
  const auto entry = find(key);
  if (!entry) co_return Ended{};
  const bool lived = entry->session.alive();
  reset(entry, Settling::by_call);
  if (entry->is_settling) CO_CHECKED(co_await wait_turn(key, ask, QueueEnd::first));
  entry->settled.existed = lived;
  co_return std::move(entry->settled);
}

// Ends the session of a call that has the turn. The caller waits for the turn again if the session has to be settled.
void Sessions::reset(const std::shared_ptr<Entry>& entry, Settling how) {
  end_now(*entry, "reset");
  if (needs_settling(*entry)) {
    begin_settling(entry, how);
  } else {
    log_session_end(*entry->tenant, entry->key.name);
    entries_.erase(entry->key);
  }
}

void Sessions::end_now(Entry& entry, std::string why) {
  if (!entry.session.alive()) return;
  entry.was_ended_by_daemon = true;
  entry.session.end(std::move(why));
}

// After the end of a session: a call learns the reason, at once or after the settling.
void Sessions::put_away(const std::shared_ptr<Entry>& entry, std::string why) {
  if (!needs_settling(*entry)) return bury(entry, std::move(why));
  entry->ended = std::move(why);
  begin_settling(entry, Settling::by_itself);
}

bool Sessions::needs_settling(const Entry& entry) const { return entry.staging && !entry.staging->is_settled(); }

void Sessions::begin_settling(const std::shared_ptr<Entry>& entry, Settling how) {
  entry->busy = entry->is_settling = true;
  tasks_.spawn(settle(entry, how));
}

Task<> Sessions::settle(std::shared_ptr<Entry> entry, Settling how) {
  const auto staging = entry->staging;
  staging->end();
  auto proposal = co_await staging->settle();
  Ended& rest = entry->settled;
  rest.ended_well = staging->ended_well() && entry->was_ended_by_daemon;
  std::string text;
  if (!proposal) {
    text = "its staged changes were lost: " + proposal.error().what;
    rest.lost = std::move(proposal).error();
  } else if (proposal->state != proposals::ProposalState::none) {
    rest.proposal = *std::move(proposal);
    if (how != Settling::by_call) co_await conclude(*entry);
    entry->reported = false;  // an answer may have told of the end, but of no proposal
    entry->knows.reset();
    text =
        fmt::format("its changes are proposal {} ({})", rest.proposal->id, proposals::state_name(rest.proposal->state));
  }
  entry->busy = entry->is_settling = false;
  if (how == Settling::by_itself) {
    bury(entry, text.empty() ? entry->ended : entry->ended + "; " + text);
  } else {
    if (how != Settling::by_daemon) log_session_end(*entry->tenant, entry->key.name);
    entries_.erase(entry->key);
  }
  if (!entry->waiting.empty()) wake_soon(host_.loop, entry);
}

Task<> Sessions::conclude(Entry& entry) {
  const policies::StagingRules rules = entry.policy->staging;
  auto store = co_await proposals_.of(entry.tenant, rules);
  if (!store) co_return;
  proposals::ProposalStores::count(*entry.tenant, **store);
  using How = proposals::ProposalStores::Ended;
  Ended& rest = entry.settled;
  rest.proposal = co_await proposals_.conclude(entry.tenant, *store, *std::move(rest.proposal),
                                               rest.ended_well ? How::well : How::badly, rules.commit);
}

// Removes an ended session. Waiting calls get the reason as an error, except resets, and calls of a client that has the
// reason from an answer. If no call gets it and the last call did not fail, the reason is stored for the next call.
void Sessions::bury(std::shared_ptr<Entry> entry, std::string why) {
  log_info("session {} of tenant {}: {}", entry->key.name, entry->key.tenant, why);
  log_session_end(*entry->tenant, entry->key.name);
  bool is_reported = entry->reported;
  const auto knows = entry->knows.lock();
  for (const auto& waiting : entry->waiting) {
    if (waiting->begin == Begin::anew || (knows && waiting->client.lock() == knows)) continue;
    is_reported = true;
    waiting->next =
        fail(Code::not_found, fmt::format("session '{}' ended while this call waited: {}", entry->key.name, why),
             kRestartSession, "session");
  }
  if (!is_reported)
    note_ended(EndedSession{entry->key, std::move(why), entry->session.calls(), Monotonic::now(), entry->knows});
  entries_.erase(entry->key);
}

void Sessions::note_ended(EndedSession removed) {
  auto of_tenant = [&removed](const EndedSession& item) { return item.key.tenant == removed.key.tenant; };
  if (static_cast<size_t>(std::count_if(ended_.begin(), ended_.end(), of_tenant)) >= kMaxEndedSessions)
    ended_.erase(std::find_if(ended_.begin(), ended_.end(), of_tenant));
  ended_.push_back(std::move(removed));
}

void Sessions::end_if(const std::function<bool(const Entry&)>& chosen, const std::string& why) {
  for (auto& [key, entry] : entries_) {
    if (!chosen(*entry)) continue;
    if (entry->busy) {
      entry->end_after_call = why;
    } else {
      end_now(*entry, why);
    }
  }
  tend();
}

void Sessions::end_all(const std::string& why) {
  end_if([](const Entry&) { return true; }, why);
}

void Sessions::end_under(const std::function<bool(const policies::Policy&)>& chosen, const std::string& why) {
  end_if([&](const Entry& entry) { return chosen(*entry.policy); }, why);
}

void Sessions::end_of(const std::string& account, const std::string& why) {
  end_if([&](const Entry& entry) { return tenants::account_of(entry.key.tenant) == account; }, why);
}

size_t Sessions::count_of(const std::string& account) const {
  return static_cast<size_t>(std::count_if(entries_.begin(), entries_.end(), [&account](const auto& item) {
    return tenants::account_of(item.first.tenant) == account;
  }));
}

Task<> Sessions::finish() {
  const auto entries = entries_;
  for (const auto& [key, entry] : entries) {
    if (entry->busy || !needs_settling(*entry)) continue;
    end_now(*entry, "warderd ended");
    begin_settling(entry, Settling::by_daemon);
  }
  const auto is_settling = [](const auto& item) { return item.second->is_settling; };
  while (std::any_of(entries_.begin(), entries_.end(), is_settling)) co_await sleep_for(host_.loop, kSettledEvery);
}

Task<> Sessions::leave_of(std::string tenant) {
  const auto entries = entries_;
  for (const auto& [key, entry] : entries) {
    if (entry->busy || key.tenant != tenant) continue;
    end_now(*entry, "its workspace moved to another node");
    if (needs_settling(*entry))
      begin_settling(entry, Settling::by_daemon);
    else
      entries_.erase(key);
  }
  const auto is_settling = [&](const auto& item) { return item.second->is_settling && item.first.tenant == tenant; };
  while (std::any_of(entries_.begin(), entries_.end(), is_settling)) co_await sleep_for(host_.loop, kSettledEvery);
}

// Ends a session whose workspace is over its quota between calls. Without a cgroup a session can write between calls.
Task<> Sessions::hold_quota(std::shared_ptr<Entry> entry) {
  if (const auto staging = entry->staging) {
    (void)co_await staging->measure();
    entry->counting = false;
    if (!entry->busy && staging->is_over_quota())
      entry->session.end("between calls, its staged changes became more than the workspace's quota");
    co_return;
  }
  auto& workspace = entry->tenant->workspace();
  auto usage = co_await workspace.measure();
  entry->counting = false;
  if (entry->busy || !usage) co_return;
  if (auto within = workspace.quota().within(); !within) entry->session.end("between calls, " + within.error().what);
}

void Sessions::tend() {
  auto entries = entries_;
  for (const auto& [key, entry] : entries) {
    if (entry->busy) continue;
    if (ms_since(entry->rests_since) >
        static_cast<double>(std::chrono::milliseconds(entry->policy->sessions.idle).count()))
      end_now(*entry, fmt::format("no call came for {} s", entry->policy->sessions.idle.count()));
    if (!entry->session.alive()) {
      put_away(entry, entry->session.why());
    } else if (entry->session.has_worked() && !std::exchange(entry->counting, true)) {
      tasks_.spawn(hold_quota(entry));
    }
  }
  tending_ = Deadline(host_.loop, kTendEvery, [this] { tend(); });
}

}  // namespace executions
