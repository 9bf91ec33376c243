#include "supervisor/streamable_http/sessions.h"

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

Result<std::shared_ptr<HttpSession>> HttpSessions::begin(mcp::Conversation::Client client) {
  if (sessions_.size() >= limits_.sessions)
    return fail(Code::exhausted, fmt::format("the server already has {} HTTP sessions", sessions_.size()),
                "try again later");
  const std::string& name = client.principal.name();
  const auto own = std::count_if(sessions_.begin(), sessions_.end(),
                                 [&](const auto& one) { return one.second->client().principal.name() == name; });
  if (static_cast<size_t>(own) >= limits_.sessions_per_principal)
    return fail(Code::exhausted, fmt::format("{} already has {} HTTP sessions", client.principal.shown(), own),
                "end one: DELETE with its Mcp-Session-Id");
  if (sessions_.empty() && tasks_.live() == 0) tasks_.spawn(end_unused());
  std::string id = random_hex(kIdBytes);
  auto session = std::make_shared<HttpSession>(loop_, server_, id, std::move(client), limits_);
  sessions_.emplace(std::move(id), session);
  return session;
}

std::shared_ptr<HttpSession> HttpSessions::find(const std::string& id, const mcp::Principal& principal) const {
  const auto found = sessions_.find(id);
  if (found == sessions_.end() || found->second->client().principal.name() != principal.name()) return nullptr;
  return found->second;
}

void HttpSessions::end_if(const std::function<bool(const std::shared_ptr<mcp::ConnectionUser>& user)>& chosen) {
  std::erase_if(sessions_,
                [&](const auto& one) { return one.second->client().user && chosen(one.second->client().user); });
}

Task<> HttpSessions::end_unused() {
  while (!sessions_.empty()) {
    co_await sleep_for(loop_, kLookAround);
    const auto now = Monotonic::now();
    std::erase_if(sessions_, [now](const auto& one) { return one.second->is_unused(now); });
  }
}

}  // namespace streamable_http
