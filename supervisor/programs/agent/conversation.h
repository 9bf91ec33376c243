// The conversation with a model, in no provider's form: what the user, the model and the tools said.
// Made by: AgentRun, the readers of replies. Used by: the formats of the providers, the transcript.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "supervisor/base/json/json_value.h"

namespace agent {

// A call that the model asks for.
struct ToolRequest {
  std::string id, name;
  std::string arguments;  // as the model wrote them: JSON, if the model made no mistake
};

struct ToolAnswer {
  std::string id, name, text;
  bool is_error = false;
};

// What a model is shown of one tool, as tools/list of the daemon gives it.
struct ShownTool {
  std::string name, description;
  Json schema;  // of the arguments
};

struct TokenUsage {
  uint64_t in = 0, out = 0;
  bool is_known = false;  // the server reported it
};

struct ModelReply {
  std::string text;
  std::vector<ToolRequest> requests;
  TokenUsage usage;
  bool is_cut = false;  // the model reached the bound of one reply
};

// The next message of a conversation. The kinds follow each other: user, model, tools, model, tools, ..., model.
struct ChatMessage {
  enum class Kind { user, model, tools };
  Kind kind = Kind::user;
  std::string text;                   // of user and model
  std::vector<ToolRequest> requests;  // of the model
  std::vector<ToolAnswer> answers;    // of the tools: one for each request before
};

}  // namespace agent
