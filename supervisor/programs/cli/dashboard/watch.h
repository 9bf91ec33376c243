// Watch: the daemon's state for the dashboard, read over D-Bus once a second, and calls for the dashboard's user.
// Source: the Manager and the object manager of org.warder.Warder1. Used by: dashboard.cc, site.cc. No call blocks. If
// the daemon is slow or absent, state() has a problem text, and the daemon is asked again. The daemon is never started.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "supervisor/base/loop.h"
#include "supervisor/operations/bus/connection.h"
#include "supervisor/programs/cli/admin/bus_client.h"

namespace admin {

class Watch {
 public:
  // `bus`: as for BusClient::connect. The loop must outlive the watch.
  Watch(Loop& loop, const std::string& bus);
  ~Watch();
  Watch(const Watch&) = delete;

  // Asks the daemon. Done when the daemon has answered, or after 5 seconds without one of its answers.
  Task<> inspect();
  // {now, problem?, manager?, executions, tenants, approvals?, approvals_problem?, servers?,
  // servers_problem?}. `now` is in milliseconds since
  // 1970; other values are as D-Bus has them. Executions have no Receipt: they are many, and it is long.
  Json state() const;

  enum class Authenticates { no, yes };  // yes: polkit may ask the user for a password, for up to two minutes
  struct BusQuestion {
    std::string path = kPath, interface = kManager, member;
    BusClient::Arguments arguments;
    Authenticates authenticates = Authenticates::no;
  };
  // The values of the daemon's answer, as BusClient::call gives them. Errors: the daemon's refusals, in its words;
  // unavailable: no daemon is connected, or its connection is lost meanwhile.
  Task<Result<Json>> ask(BusQuestion question);

 private:
  struct Round {  // a question, or one round of questions, to the daemon
    explicit Round(Loop& loop) : task(loop) {}
    Event over;
    Result<Json> result;
    Scope task;  // last: cancelled first
  };
  using RoundPtr = std::shared_ptr<Round>;
  struct Line {  // a connection to a bus
    std::unique_ptr<bus::BusConnection> connection;
    std::vector<RoundPtr> rounds;  // that have no answer
    bool lost = false;
    void end(const std::string& why);  // every round ends with an error
  };
  Result<> connect();
  // Runs the work, and waits until it is done or the connection is lost.
  Task<Result<Json>> run(std::shared_ptr<Line> line, Task<Result<Json>> work);
  Task<> finish(RoundPtr round, Task<Result<Json>> work);
  Task<Result<Json>> ask_all();
  Task<Result<Json>> call(BusQuestion question);

  Loop& loop_;
  std::vector<std::string> buses_;  // tried in turn
  size_t tried_ = 0;
  uint64_t looks_ = 0;
  std::shared_ptr<Line> line_;
  std::string problem_ = "warderd was not asked yet", approvals_problem_, servers_problem_;
  Json manager_, executions_ = Json::array(), tenants_ = Json::array(), approvals_, servers_;
};

}  // namespace admin
