// Watch: the daemon's state for the dashboard, read over D-Bus once a second, with the history of the last ten minutes.
// Source: the Manager and the object manager of org.warder.Warder1. Used by: dashboard.cc, site.cc. No call blocks. If
// the daemon is slow or absent, state() has a problem text, and the daemon is asked again. The daemon is never started.
#pragma once
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "supervisor/base/loop.h"
#include "supervisor/bus/connection.h"
#include "supervisor/cli/admin/bus_client.h"

namespace admin {

class Watch {
 public:
  // `bus`: as for BusClient::connect. The loop must outlive the watch.
  Watch(Loop& loop, const std::string& bus);

  // Asks the daemon. Done when the daemon has answered, or after 5 seconds without one of its answers.
  Task<> look();
  // JSON: {now, problem?, manager?, executions, tenants, history}. history has the moments after `since`, oldest first.
  // Times are milliseconds since 1970; other values are as D-Bus has them.
  std::string state(uint64_t since) const;

 private:
  struct Round {  // one round of questions to the daemon
    Event over;
    Result<> result;
  };
  struct Line {  // a connection to a bus
    std::unique_ptr<bus::BusConnection> connection;
    std::shared_ptr<Round> round;  // the running round; nullptr: no round runs
    bool lost = false;
  };
  Result<> connect();
  Task<> ask(std::shared_ptr<Round> round);
  Task<Result<>> ask_all();
  Task<Result<Json>> call(const char* interface, const char* member, const char* argument);

  Loop& loop_;
  std::vector<std::string> buses_;  // tried in turn
  size_t tried_ = 0;
  std::shared_ptr<Line> line_;
  std::string problem_ = "warderd has not answered yet";
  Json manager_, executions_ = Json::array(), tenants_ = Json::array();
  std::deque<Json> history_;
  Scope asking_;  // last: cancelled first
};

}  // namespace admin
