#include "supervisor/protocol/streamable_http/sessions.h"

#include <fmt/format.h>

#include <algorithm>

#include "supervisor/base/random.h"

namespace streamable_http {
namespace {

constexpr size_t kIdBytes = 16;
constexpr std::chrono::seconds kLookAround{30};  // between two searches for unused sessions

}  // namespace

HttpSessions::HttpSessions(Loop& loop, mcp::Server& server, const SessionLimits& limits)
    : loop_(loop), server_(server), limits_(limits), tasks_(loop) {}

// Ends the principal's session that is idle for the longest time. False: a request or a stream is open in each.
bool HttpSessions::make_room(const mcp::Principal& principal) {
  auto longest = sessions_.end();
  for (auto it = sessions_.begin(); it != sessions_.end(); ++it) {
    if (it->second->client().principal.name() != principal.name() || !it->second->idle_since()) continue;
    if (longest == sessions_.end() || *it->second->idle_since() < *longest->second->idle_since()) longest = it;
  }
  if (longest == sessions_.end()) return false;
  sessions_.erase(longest);
  return true;
}

Result<std::shared_ptr<HttpSession>> HttpSessions::begin(mcp::Conversation::Client client) {
  if (sessions_.size() >= limits_.sessions && !make_room(client.principal))
    return fail(Code::exhausted, fmt::format("the server already has {} HTTP sessions", sessions_.size()),
                "try again later");
  const std::string& name = client.principal.name();
  const auto own = std::count_if(sessions_.begin(), sessions_.end(),
                                 [&](const auto& item) { return item.second->client().principal.name() == name; });
  if (static_cast<size_t>(own) >= limits_.sessions_per_principal && !make_room(client.principal))
    return fail(Code::exhausted,
                fmt::format("{} already has {} HTTP sessions, and each has an open request or stream",
                            client.principal.displayed(), own),
                "end one: DELETE with its Mcp-Session-Id");
  if (sessions_.empty() && tasks_.live() == 0) tasks_.spawn(end_unused());
  std::string id = random_hex(kIdBytes);
  auto session = std::make_shared<HttpSession>(loop_, server_, id, std::move(client), limits_);
  sessions_.emplace(std::move(id), session);
  return session;
}

std::shared_ptr<HttpSession> HttpSessions::find(const std::string& id, const mcp::Principal& principal) const {
  const auto it = sessions_.find(id);
  if (it == sessions_.end() || it->second->client().principal.name() != principal.name()) return nullptr;
  return it->second;
}

void HttpSessions::end_if(const std::function<bool(const std::shared_ptr<mcp::ConnectionUser>& user)>& chosen) {
  std::erase_if(sessions_,
                [&](const auto& item) { return item.second->client().user && chosen(item.second->client().user); });
}

Task<> HttpSessions::end_unused() {
  while (!sessions_.empty()) {
    co_await sleep_for(loop_, kLookAround);
    const auto now = Monotonic::now();
    std::erase_if(sessions_, [this, now](const auto& item) {
      const auto since = item.second->idle_since();
      return since && now - *since >= limits_.idle;
    });
  }
}

}  // namespace streamable_http
