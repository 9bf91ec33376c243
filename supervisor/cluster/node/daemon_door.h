// DaemonDoor: the socket of warder-node for the warderd of the same machine (node_messages.h): control connections,
// which ask for homes and hear of the lease, and connections to other nodes. Only root, this program's user and the
// user of warderd may connect. Used by: node_service.h. Errors of open(): invalid, no listening Unix stream socket.
#pragma once
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "supervisor/base/json/json_value.h"
#include "supervisor/base/loop.h"
#include "supervisor/cluster/link/node_messages.h"
#include "supervisor/cluster/link/view_messages.h"

namespace cluster {

class DaemonDoor {
 public:
  // The parts of warder-node that answer.
  class Service {
   public:
    virtual ~Service() = default;
    virtual Task<Result<Home>> home_of(tenants::TenantId id) = 0;
    virtual Json lease() = 0;  // the content of the message "lease"
    // Pages of the view (view_messages.h).
    virtual Json nodes_after(const std::string& name) = 0;
    virtual Json homes_for(const HomeQuestion& question) = 0;
    virtual Task<Result<ForgottenHomes>> forget_homes(std::string account) = 0;
    // nullopt: no warderd is connected.
    virtual void set_load(std::optional<NodeLoad> load) = 0;
    // `for_client`: nullopt: a query (query_messages.h).
    virtual Task<> carry(AsyncFd local, std::string node, std::optional<NodeClient> for_client) = 0;
    virtual Result<std::vector<std::string>> slots_for(const std::string& account, bool here_is_free) = 0;
    virtual Task<> give_rules(AsyncFd daemon) = 0;  // the answer to "rules"
    virtual Task<> carry_push(AsyncFd local, std::string node, Push push) = 0;
    // An order of NodeOrders.
    virtual Task<Result<Json>> order(std::string order, Json question) = 0;
  };
  // Loop and service must outlive the object.
  static Result<std::unique_ptr<DaemonDoor>> open(Loop& loop, Fd socket, std::set<uid_t> users, Service& service);
  DaemonDoor(const DaemonDoor&) = delete;
  DaemonDoor& operator=(const DaemonDoor&) = delete;

  // Sends a message on every control connection.
  void notify(const Json& message);

 private:
  struct Control {
    Control(Loop& loop, AsyncFd connected) : socket(std::move(connected)), asking(loop) {}
    AsyncFd socket;
    Scope asking;  // last: cancelled first
  };
  DaemonDoor(Loop& loop, AsyncFd socket, std::set<uid_t> users, Service& service)
      : loop_(loop), socket_(std::move(socket)), users_(std::move(users)), service_(service), tasks_(loop) {}
  Task<> serve(Fd client);
  Task<> serve_control(AsyncFd socket);
  void take(Control& control, Json message);
  Task<> find(Control& control, Json question);
  void answer_placement(Control& control, const Json& question);
  void show_nodes(Control& control, const Json& question);
  void show_homes(Control& control, const Json& question);
  void take_load(const Json& load);
  Task<> order(Control& control, std::string order, Json question);
  Task<> forget_homes(Control& control, Json request);
  static void send(Control& control, const Json& message);

  Loop& loop_;
  AsyncFd socket_;
  const std::set<uid_t> users_;
  Service& service_;
  std::list<Control> controls_;
  Scope tasks_;  // last: cancelled first
};

}  // namespace cluster
