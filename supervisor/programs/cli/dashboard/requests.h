// DashboardRequests: the data and the actions that the dashboard's page asks for, as JSON.
// Source: Watch, which asks the daemon as the user of `warder dashboard`: the daemon and polkit decide about rights.
// Used by: site.cc. Errors are answers: {"error": "..."} with an HTTP status.
#pragma once
#include <string>

#include "supervisor/programs/cli/admin/user_names.h"
#include "supervisor/programs/cli/dashboard/watch.h"

namespace admin {

struct DashboardUser {
  uint32_t uid = 0;
  bool may_act = true;  // false: --read-only
  std::string tunnel;   // the ssh command that brings the page to another machine
};

struct DashboardAnswer {
  std::string status;  // "200 OK"; empty: there is nothing of that name
  Json json;
};

class DashboardRequests {
 public:
  // `watch` must outlive the requests.
  DashboardRequests(Watch& watch, DashboardUser user) : watch_(watch), user_(std::move(user)) {}

  // state.json: Watch::state(), with user and names: {tenant: user name}.
  // timeline.json?seconds=N&step=N: the last N seconds: {columns, rows, answers}; null: not measured.
  // execution.json?id=ID: all properties of an execution.
  // output.json?id=ID&stream=S&offset=N: {text, next, size, ended}, with escapes for control characters.
  Task<DashboardAnswer> read(std::string path, std::string query);
  // {"action": "kill", "freeze", "thaw", "approve" or "deny", "id", "reason"?}
  Task<DashboardAnswer> act(std::string body);

 private:
  Json state();
  Task<DashboardAnswer> timeline(std::string query);
  Task<DashboardAnswer> execution(std::string query);
  Task<DashboardAnswer> output(std::string query);

  Watch& watch_;
  const DashboardUser user_;
  UserNames names_;
};

}  // namespace admin
