// Watch: what the dashboard shows, asked of the daemon over D-Bus once a second, and what it was for ten minutes.
// Source: the Manager and the object manager of org.warder.Warder1. Nothing here waits: a daemon that is slow, or not
// there, is told as a problem, and asked again; it is never started for this.
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

  // Asks the daemon; done when it has answered, or some seconds have passed.
  Task<> look();
  // As JSON: {now, problem?, manager?, executions, tenants, history}: the moments after `since`, oldest first. Times
  // are milliseconds since 1970, the rest is as D-Bus has it.
  std::string state(uint64_t since) const;

 private:
  struct Round {  // of questions
    Event over;
    Result<> result;
  };
  struct Line {  // to a bus
    std::unique_ptr<bus::BusConnection> connection;
    std::shared_ptr<Round> round;  // that goes on; nullptr: none
    bool lost = false;
  };
  Result<> connect();
  Task<> ask(std::shared_ptr<Round> round);
  Task<Result<>> ask_all();
  Task<Result<Json>> call(const char* interface, const char* member, const char* argument);

  Loop& loop_;
  std::vector<std::string> buses_;  // to be tried in turn
  size_t tried_ = 0;
  std::shared_ptr<Line> line_;
  std::string problem_ = "warderd has not answered yet";
  Json manager_, executions_ = Json::array(), tenants_ = Json::array();
  std::deque<Json> history_;
  Scope asking_;  // last: cancelled first
};

}  // namespace admin
