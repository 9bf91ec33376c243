// DaemonTools: the tools of warderd that the model is shown, called over the daemon's Unix socket like by any client
// (MCP 2026-07-28, JSON lines). It is all that this program can do: the rights are those of the user's socket, and the
// policy of the daemon decides about each call.
// Source of arguments: the model, which is not trusted. Used by: AgentRun.
// Errors: unavailable: no daemon answers; denied, invalid: the daemon's refusal, in its words.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/base/loop.h"
#include "supervisor/base/result.h"
#include "supervisor/programs/agent/conversation.h"
#include "supervisor/programs/cli/lines.h"
#include "supervisor/programs/cli/socket.h"

namespace agent {

// What the calls of a run have in common.
struct AgentTarget {
  std::string session;    // of Python; other languages have sessions of their own
  std::string workspace;  // empty: the user's own
  std::string task;       // describes the session in the daemon's log
};

class DaemonTools {
 public:
  // `loop` must outlive the tools.
  DaemonTools(Loop& loop, cli::SocketPath socket, AgentTarget position);
  ~DaemonTools();
  DaemonTools(const DaemonTools&) = delete;
  DaemonTools& operator=(const DaemonTools&) = delete;

  // Connects. Returns the tools of kShownTools that the daemon lists. Errors: also those of the workspace's name.
  Task<Result<std::vector<ShownTool>>> open();

  struct Answer {
    ToolAnswer reported;
    std::string printed;  // what the program printed; of execute_code
  };
  // Calls a tool. A call that cannot be made, or fails, is an answer with is_error. `turn`: for the session's log.
  Task<Answer> call(const ToolRequest& request, unsigned turn);
  // Cancels the call that runs, and ends the run's sessions: a user has few, and each holds memory. Their logs stay.
  // The result: ids of the proposals that the changes of staged sessions have become.
  Task<std::vector<std::string>> close();

 private:
  Task<Result<Json>> request(const char* method, Json params);
  Result<> connect();
  void disconnect();
  Task<Result<Json>> answer_to(int64_t id);
  Json meta(const std::string& description) const;
  void place_in_session(const std::string& tool, Json& arguments);
  void cancel_running();

  Loop& loop_;
  const cli::SocketPath socket_;
  const AgentTarget target_;
  AsyncFd daemon_;
  cli::LineReader in_;
  cli::LineOutbox out_;
  int64_t last_id_ = 0;
  std::optional<int64_t> running_;               // the request that waits for its answer
  std::vector<std::string> names_;               // of the tools that the daemon lists
  std::map<std::string, std::string> sessions_;  // that calls have used: their languages by their names
};

// "execute_code", "search_tools", "get_tool_definition"
bool is_shown_tool(std::string_view name);

}  // namespace agent
