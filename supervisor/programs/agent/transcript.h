// AgentTranscript: the messages of a run, in a file of JSON lines from which the run can continue:
// $XDG_STATE_HOME/warder/agent/SESSION.jsonl, or ~/.local/state/... . It is for its user alone (0600), and locked while
// a run writes it. The kinds of lines: begin, user, model, tools, end.
// Used by: AgentRun, main.cc. Errors: not_found: the transcript does not exist; unavailable: another run uses it, or
// the file cannot be written; invalid: the name is not a session's, or a line is broken.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "supervisor/base/fd.h"
#include "supervisor/base/result.h"
#include "supervisor/programs/agent/conversation.h"

namespace agent {

class AgentTranscript {
 public:
  // A new run. `session`: a name that no other run has.
  static Result<AgentTranscript> begin(const std::string& session, const std::string& workspace,
                                       const std::string& model, const std::string& task);
  // An earlier run. continue_with() must follow.
  static Result<AgentTranscript> resume(const std::string& session);
  // Adds the user's next request, which may be empty if the run has not ended with an answer. Calls without an answer
  // get one that says so: the run was killed while they ran. The model is told that variables may be gone.
  Result<> continue_with(const std::string& further);

  const std::string& session() const { return session_; }
  const std::string& workspace() const { return workspace_; }
  const std::string& task() const { return task_; }  // the first one
  const std::vector<ChatMessage>& messages() const { return messages_; }
  // Adds a message, and writes it.
  Result<> add(ChatMessage message);
  // Writes how the run ended.
  Result<> end(const std::string& how, const std::string& error);

 private:
  Result<> write(Json line);
  Result<> read_line(const Json& line);

  Fd file_;
  std::string session_, workspace_, task_;
  std::vector<ChatMessage> messages_;
};

// A name for a new session: "agent-20261127-1a2b3c4d5e6f".
std::string new_session_name();

}  // namespace agent
