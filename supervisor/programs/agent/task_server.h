// TaskServer: tasks of other programs over HTTP: POST /task, GET /task/ID, GET /health. Each task is an AgentRun in the
// named workspace that its `userId` names; the daemon's policy decides whether it may.
// Source of requests: programs of this machine, which hold the token (TCP) or may open the socket (Unix). Used by:
// main.cc. Errors of open_task_socket(), read_task_token(): invalid, unavailable.
#pragma once
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "supervisor/programs/agent/agent_run.h"
#include "supervisor/programs/agent/json_server.h"

namespace agent {

// The socket of --listen.
struct TaskSocket {
  Fd socket;
  std::string path;     // of a Unix socket, which the server removes at its end
  std::string address;  // of a TCP socket, "127.0.0.1:3000"
};
// `where`: "unix:PATH" or "ADDRESS:PORT" of a loopback address. A Unix socket gets the mode 0600.
Result<TaskSocket> open_task_socket(const std::string& where);
// The token of clients over TCP. Errors: also for a file that other users may read.
Result<std::string> read_task_token(const std::string& path);

class TaskServer : private JsonServer::Host {
 public:
  // All references must outlive the server. `token`: empty for a Unix socket.
  TaskServer(Loop& loop, http::HttpClient& client, const AgentSettings& settings, const cli::SocketPath& daemon,
             std::string address, std::string token, ProgressReporter progress);
  Result<> open(Fd socket);
  // Accepts no more requests, cancels the tasks that run, and waits for their end.
  Task<> finish();

 private:
  struct ServedTask {
    std::string id;
    std::unique_ptr<AgentRun> run;  // while it runs
    std::string session;
    AgentOutcome outcome;  // after its end
    Event over;
  };
  using TaskPtr = std::shared_ptr<ServedTask>;

  std::optional<JsonReply> check(const http::IncomingRequest& head) override;
  Task<JsonReply> respond(http::IncomingRequest request) override;
  Task<JsonReply> post_task(const std::string& body);
  JsonReply get_task(const std::string& id) const;
  bool has_token(const http::IncomingRequest& head) const;
  Result<TaskPtr> begin(const std::string& user, const std::string& text);
  Task<> drive(TaskPtr task);
  void keep(TaskPtr task);

  Loop& loop_;
  http::HttpClient& client_;
  const AgentSettings& settings_;
  const cli::SocketPath& daemon_;
  const std::string address_, token_;
  ProgressReporter report_;
  std::map<std::string, TaskPtr> running_;  // by id
  std::map<std::string, TaskPtr> tasks_;    // background tasks, by id
  std::list<std::string> saved_order_;      // the oldest first
  Event* idle_ = nullptr;                   // of finish()
  Scope runs_;
  std::unique_ptr<JsonServer> server_;  // last: destroyed first
};

}  // namespace agent
