// EgressLink: warderd's side of the socket of warder-egress (service.h). It connects for the first execution that needs
// the service, and again after the service has gone. EgressUse: what one execution may reach, from its program's begin
// to its end.
// Used by: supervisor/tools/execution, supervisor/daemon. Errors: unavailable: the service is not there.
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "policies/egress_rules.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/loop.h"
#include "supervisor/base/one_shot.h"
#include "supervisor/base/worker_thread.h"
#include "supervisor/egress/egress_entry.h"

namespace egress {

class EgressLink;

// Secrets: the value for each rule; empty: the rule has no secret.
using Secrets = std::vector<std::string>;

class EgressUse {
 public:
  class Host {
   public:
    virtual ~Host() = default;
    // A request was allowed, denied, or has failed.
    virtual void note(const EgressEntry& entry) = 0;
    // A person decides. Destroying the task takes the question back.
    virtual Task<bool> ask(EgressEntry entry) = 0;
    // The service has gone, and with it the connections. The object is of no use any more.
    virtual void lost() = 0;
  };
  EgressUse(EgressLink& link, Host& host, uint64_t number);
  // Ends all connections of the program.
  ~EgressUse();
  EgressUse(const EgressUse&) = delete;
  EgressUse& operator=(const EgressUse&) = delete;

  // Ends all connections, and returns what passed. Waits for the service at most a second; nullopt: no answer came.
  Task<std::optional<EgressTotals>> finish();

 private:
  friend class EgressLink;
  void take_event(const Json& event);
  Task<> ask(uint64_t question, EgressEntry entry);

  EgressLink& link_;
  Host& host_;
  const uint64_t number_;
  bool is_closed_ = false;
  std::optional<OneShot<std::optional<EgressTotals>>::Resolver> finished_;
  Scope asking_;  // last: cancelled first
};

class EgressLink {
 public:
  // `socket`: path of the service's socket; empty: no service. The thread reads secrets.
  EgressLink(Loop& loop, std::string socket, WorkerThread& disk);
  EgressLink(const EgressLink&) = delete;
  EgressLink& operator=(const EgressLink&) = delete;

  bool is_connected() const { return static_cast<bool>(socket_); }
  // Connects, if it is not connected. Errors: unavailable.
  Result<> connect();

  struct Counts {                                  // since the start
    uint64_t allowed = 0, denied = 0, failed = 0;  // requests
    uint64_t bytes_up = 0, bytes_down = 0;         // of ended programs
  };
  const Counts& counts() const { return counts_; }

  // Reads the secrets of the rules. Errors: unavailable, naming rule and file: missing, too long, more than one line,
  // or shorter than could be hidden.
  Task<Result<Secrets>> read_secrets(const policies::EgressRules& rules);
  // Hands over a jail's listener. The program's connections are served until the object is destroyed. `listener` is
  // borrowed, `host` must outlive the object. Errors: unavailable.
  Result<std::unique_ptr<EgressUse>> open(int listener, const policies::EgressRules& rules, const Secrets& secrets,
                                          EgressUse::Host& host);

 private:
  friend class EgressUse;
  Task<> read_events();
  void send(Json order, Fd descriptor = {});
  Task<> send_queued();
  void lose(const std::string& why);

  Loop& loop_;
  const std::string path_;
  WorkerThread& disk_;
  std::shared_ptr<AsyncFd> socket_;  // nullptr: not connected
  struct Queued {
    Json order;
    Fd descriptor;
  };
  std::deque<Queued> queued_;
  bool is_sending_ = false;
  Counts counts_;
  uint64_t last_number_ = 0;
  std::map<uint64_t, EgressUse*> uses_;
  Scope tasks_;  // last: cancelled first
};

}  // namespace egress
