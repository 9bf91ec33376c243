#include <fmt/format.h>

#include <algorithm>

#include "jail/execution/outcome.h"
#include "policies/policy.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/log.h"
#include "supervisor/executions/session_entry.h"
#include "supervisor/executions/session_log.h"
#include "supervisor/tenants/sessions.h"
#include "supervisor/tenants/tenant.h"

namespace executions {
namespace {

constexpr size_t kMaxInAll = 64;  // sessions of all tenants; the policy limits the sessions of one tenant
constexpr size_t kMaxWaiting = 1000;

constexpr char kRule[] = "sessions.max";
// One node runs JavaScript and TypeScript in turn.
bool fits(jail::Language session, jail::Language program) {
  return session == program || (jail::runs_in_node(session) && jail::runs_in_node(program));
}

int64_t seconds_since(Monotonic::time_point at) { return std::llround(ms_since(at) / 1000); }

}  // namespace

Sessions::Sessions(jail::Host& host, jail::Pool& pool, proposals::ProposalStores& proposals)
    : host_(host), pool_(pool), proposals_(proposals), tasks_(host.loop) {
  tend();
}

Sessions::~Sessions() { tasks_.cancel_all(); }

// Waits until no call runs in the session and no earlier call waits for it. The session may have ended by then.
Task<Result<>> Sessions::wait_turn(const Key& key, const Ask& ask, QueueEnd position) {
  for (bool is_next = false;; is_next = true) {
    auto it = entries_.find(key);
    if (it == entries_.end()) co_return Result<>{};
    auto entry = it->second;
    if (!entry->busy && (is_next || entry->waiting.empty())) co_return Result<>{};
    if (entry->waiting.size() >= kMaxWaiting)
      co_return fail(Code::exhausted,
                     fmt::format("{} calls wait for session '{}' already", entry->waiting.size(), key.name),
                     "wait until some of them end, or use another session", "session");
    OneShot<Result<>> turn(host_.loop);
    auto waiting = std::make_shared<WaitingCall>();
    waiting->turn = turn.resolver();
    waiting->execution = ask.execution;
    waiting->begin = ask.begin;
    waiting->client = ask.client;
    if (position == QueueEnd::first) {
      entry->waiting.push_front(waiting);
    } else {
      entry->waiting.push_back(waiting);
    }
    struct QueueExitGuard {
      std::shared_ptr<Entry> entry;
      std::shared_ptr<WaitingCall> waiting;
      ~QueueExitGuard() { std::erase(entry->waiting, waiting); }
    } leave{entry, waiting};
    CO_CHECKED(co_await turn);
  }
}

Result<> Sessions::check_ended(const Key& key, const Ask& ask) {
  auto it = std::find_if(ended_.begin(), ended_.end(), [&](const EndedSession& item) { return item.key == key; });
  if (it == ended_.end()) return {};
  const EndedSession report = *it;
  ended_.erase(it);
  const auto client = ask.client.lock();
  if (ask.begin == Begin::anew || (client && report.reported.lock() == client)) return {};
  return fail(
      Code::not_found,
      fmt::format("session '{}' ended, and its variables are lost: {} ({} s ago, after {} calls); this call did "
                  "not run",
                  key.name, report.why, seconds_since(report.at), report.calls),
      kRestartSession, "session");
}

// The log of a session stays open if the daemon ends or crashes during the session. Closes an open log and returns the
// error for the call.
Result<> Sessions::check_left_open(const Ask& ask) const {
  if (!ask.tenant->sessions().is_open(ask.name)) return {};
  log_session_end(*ask.tenant, ask.name);
  if (ask.begin == Begin::anew) return {};
  return fail(Code::not_found,
              fmt::format("session '{}' ended with the daemon, and its variables are lost; this call did not "
                          "run",
                          ask.name),
              kRestartSession, "session");
}

Result<> Sessions::check_room(const Ask& ask) const {
  std::string names;
  size_t count = 0;
  for (const auto& [key, entry] : entries_) {
    if (entry->tenant->account() != ask.tenant->account()) continue;
    names += (count++ > 0 ? ", " : "") + key.name;
  }
  if (count >= ask.policy->sessions.max)
    return fail(
        Code::exhausted, fmt::format("{} sessions are open: {}", count, names),
        "use one of these sessions, or end one: call with its name as session, empty code and reset_session true",
        kRule);
  if (entries_.size() >= kMaxInAll)
    return fail(Code::exhausted, fmt::format("{} sessions are open on this machine", entries_.size()),
                "try again later, or call without a session", "session");
  return {};
}

Task<Result<Sessions::Turn>> Sessions::enter(Ask ask) {
  CO_CHECKED(tenants::check_session_id(ask.name));
  if (ask.policy->sessions.max == 0)
    co_return fail(Code::denied, fmt::format("policy '{}' allows no sessions", ask.policy->name),
                   "leave `session` out and keep data in workspace files", kRule);
  const Key key{ask.tenant->name(), ask.name};
  std::shared_ptr<Entry> entry, former;
  for (;;) {
    CO_CHECKED(co_await wait_turn(key, ask, former ? QueueEnd::first : QueueEnd::last));
    entry = find(key);
    if (!entry || (entry->session.alive() && ask.begin != Begin::anew)) break;
    if (entry->session.alive()) {
      former = entry;
      reset(entry, Settling::by_reset);
      ask.begin = Begin::if_there_is_none;  // another call may begin the new session first
    } else {
      put_away(entry, entry->session.why());
    }
  }
  CO_CHECKED(check_ended(key, ask));
  if (entry) {
    CO_CHECKED(check_fits(*entry, ask));
    entry->busy = true;
    co_return Turn(*this, std::move(entry), std::move(ask.client));
  }
  CO_CHECKED(check_left_open(ask));
  if (ask.begin == Begin::never)
    co_return fail(Code::not_found, fmt::format("there is no session '{}'", key.name),
                   "first run the code that makes the values in this session", "session");
  CO_CHECKED(check_room(ask));
  entry = std::make_shared<Entry>(host_, pool_);
  entry->key = key;
  entry->tenant = std::move(ask.tenant);
  entry->watches_opened = entry->tenant->workspace().watch_opened();
  entry->language = ask.language;
  entry->access = ask.access;
  if (former && former->settled.proposal) entry->earlier_proposal = former->settled.proposal->id;
  entry->memory_bytes = ask.memory_bytes.value_or(ask.policy->limits.standard.memory_bytes);
  entry->policy = std::move(ask.policy);
  entries_.emplace(key, entry);
  co_return Turn(*this, std::move(entry), std::move(ask.client));
}

std::shared_ptr<Sessions::Entry> Sessions::find(const Key& key) const {
  const auto it = entries_.find(key);
  return it == entries_.end() ? nullptr : it->second;
}

Result<> Sessions::check_fits(const Entry& entry, const Ask& ask) const {
  const std::string& name = entry.key.name;
  if (entry.policy != ask.policy)
    return fail(Code::denied, fmt::format("session '{}' began under policy '{}'", name, entry.policy->name),
                "use a session of another name", "session");
  if (!fits(entry.language, ask.language))
    return fail(Code::invalid,
                fmt::format("session: '{}' runs {}, not {}", name, jail::language_name(entry.language),
                            jail::language_name(ask.language)),
                "use a session of another name, or start it again with reset_session", "session");
  if (ask.memory_bytes && *ask.memory_bytes != entry.memory_bytes)
    return fail(
        Code::invalid,
        fmt::format("memory_mb: session '{}' began with {} MB, which cannot change", name, entry.memory_bytes >> 20),
        "leave memory_mb out, or start the session again with reset_session", "session");
  if (ask.names_access && ask.access != entry.access)
    return fail(Code::invalid,
                fmt::format("workspace: session '{}' began with a {} workspace, which cannot change", name,
                            jail::access_name(entry.access)),
                "leave workspace out, or start the session again with reset_session", "session");
  return {};
}

Sessions::Turn::~Turn() {
  if (entry_) sessions_->leave(entry_);
}

Task<Result<jail::Report>> Sessions::Turn::run(jail::Request request) {
  Entry& entry = *entry_;
  const std::string id = request.id;
  if (entry.session.calls() == 0) log_session_begin(*entry.tenant, entry.key.name);
  entry.ended = "the last call was cancelled";  // if this task is destroyed
  auto report = co_await entry.session.run(std::move(request));
  entry.reported = !report;
  if (!entry.session.why().empty()) {
    entry.ended = entry.session.why();
  } else if (!report) {
    entry.ended = report.error().what;
  } else {
    entry.ended = fmt::format("call {} ended with outcome {}{}{}", id, jail::outcome_name(report->outcome),
                              report->message.empty() ? "" : ": ", report->message);
  }
  if (entry.staging) {
    if (!entry.end_after_call.empty()) sessions_->end_now(entry, entry.end_after_call);
    if (!entry.session.alive()) entry.staging->end();
  }
  co_return report;
}

const std::string& Sessions::Turn::name() const { return entry_->key.name; }

uint64_t Sessions::Turn::memory_bytes() const { return entry_->memory_bytes; }

uint64_t Sessions::Turn::room_bytes() const {
  const uint64_t used = entry_->session.memory_bytes();
  return entry_->memory_bytes - std::min(entry_->memory_bytes, used);
}

void Sessions::Turn::end(std::string why) {
  entry_->session.end(why);
  entry_->ended = std::move(why);
}

jail::WorkspaceAccess Sessions::Turn::access() const { return entry_->access; }

const std::shared_ptr<SessionStaging>& Sessions::Turn::staging() const { return entry_->staging; }

void Sessions::Turn::stage(std::shared_ptr<proposals::ProposalStore> store) {
  entry_->staging = std::make_shared<SessionStaging>(sessions_->host_.loop, entry_->tenant, std::move(store));
}

Json Sessions::Turn::state_json() {
  Json report = {{"name", entry_->key.name}, {"call", entry_->session.calls()}};
  if (const std::string earlier = std::exchange(entry_->earlier_proposal, {}); !earlier.empty())
    report["earlier_proposal"] = earlier;
  if (entry_->session.alive() && entry_->end_after_call.empty()) return report;
  report["ended"] = true;
  report["remedy"] = "its variables are lost; the next call of this name begins a new session; the log is session:///" +
                     entry_->key.name;
  entry_->knows = client_;
  return report;
}

// May run in destructors of other tasks, so the next waiting call is woken in a later turn of the loop.
void Sessions::leave(const std::shared_ptr<Entry>& entry) {
  entry->busy = false;
  entry->rests_since = Monotonic::now();
  if (!entry->end_after_call.empty() && entry->session.alive()) {
    end_now(*entry, entry->end_after_call);
    entry->ended = entry->end_after_call;
  }
  if (!entry->session.alive()) {
    if (entry->session.calls() == 0) {
      entries_.erase(entry->key);  // no program ran in the session
    } else {
      put_away(entry, entry->ended);
    }
  }
  if (!entry->waiting.empty()) wake_soon(host_.loop, entry);
}

// The sessions of the daemon may be gone then.
void Sessions::wake_soon(Loop& loop, const std::shared_ptr<Entry>& entry) {
  loop.defer([&loop, entry] { wake_next(loop, entry); });
}

void Sessions::wake_next(Loop& loop, const std::shared_ptr<Entry>& entry) {
  if (entry->busy || entry->waiting.empty()) return;
  auto next = entry->waiting.front();
  entry->waiting.pop_front();
  next->turn.resolve_now(next->next);
  // The woken call may not take the session: it may be cancelled, or it reports the session's end. Then the next
  // waiting call is woken.
  if (!entry->waiting.empty()) wake_soon(loop, entry);
}

void Sessions::withdraw(const std::string& execution) {
  for (const auto& [key, entry] : entries_) {
    auto& queue = entry->waiting;
    auto it = std::find_if(queue.begin(), queue.end(), [&](const auto& item) { return item->execution == execution; });
    if (it == queue.end()) continue;
    auto waiting = *it;
    queue.erase(it);
    waiting->turn.resolve(
        fail(Code::denied, "cancelled by an administrator while it waited for its session's turn; it did not run"));
    return;
  }
}

Json Sessions::list(const std::string& tenant) const {
  Json all = Json::array();
  for (const auto& [key, entry] : entries_) {
    if (key.tenant != tenant || (!entry->busy && !entry->session.alive())) continue;
    Json item = {{"name", key.name}, {"calls", entry->session.calls()}};
    if (entry->staging) {
      const proposals::StagedUsage& staged = entry->staging->last_measured();
      item["staged"] = {{"files", staged.files}, {"bytes", staged.bytes}};
    }
    item["state"] = entry->is_settling        ? "ending"
                    : entry->busy             ? "running"
                    : entry->session.frozen() ? "frozen"
                                              : "idle";
    if (!entry->busy) {
      const int64_t idle = seconds_since(entry->rests_since);
      item["idle_seconds"] = idle;
      item["expires_in_seconds"] = std::max<int64_t>(entry->policy->sessions.idle.count() - idle, 0);
      item["memory_bytes"] = entry->session.memory_bytes();
    }
    all.push_back(std::move(item));
  }
  return all;
}

}  // namespace executions
