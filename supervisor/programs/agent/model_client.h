// ModelClient: asks the model's server for the next reply, over HTTP. It sends a request again, a bounded number of
// times and after growing pauses, when the server is busy or fails (429, 5xx), cannot be reached, or breaks its reply
// off. No call of a broken reply has run, so a second reply does no harm; it costs its tokens.
// Used by: AgentRun. Errors: unavailable (the retries are used up), denied (401, 403), invalid (other 4xx), exhausted
// (the reply is too large).
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/base/loop.h"
#include "supervisor/programs/agent/agent_settings.h"
#include "supervisor/programs/agent/conversation.h"
#include "supervisor/programs/agent/model_format.h"
#include "supervisor/protocol/http/client.h"

namespace agent {

// One line of progress for people.
using ProgressReporter = std::function<void(const std::string& line)>;

class ModelClient {
 public:
  // All references must outlive the client.
  ModelClient(Loop& loop, http::HttpClient& client, const AgentSettings& settings, ProgressReporter progress);
  ModelClient(const ModelClient&) = delete;

  Task<Result<ModelReply>> ask(const std::string& instructions, const std::vector<ShownTool>& tools,
                               const std::vector<ChatMessage>& messages);

 private:
  struct Attempt {
    Result<ModelReply> reply = fail(Code::internal, "no reply");
    bool may_repeat = false;
    std::optional<std::chrono::milliseconds> wait;  // that the server asks for
  };
  Task<Attempt> try_once(const std::string& body);
  Task<Result<ModelReply>> read_stream(http::Exchange& exchange);
  Task<Result<ModelReply>> read_plain(http::Exchange& exchange);
  Task<Attempt> refused(http::Exchange& exchange, const http::ReplyHead& head);

  Loop& loop_;
  http::HttpClient& client_;
  const AgentSettings& settings_;
  ProgressReporter report_;
  std::unique_ptr<ModelFormat> format_;
};

// The pause that the field Retry-After asks for: seconds, or a date. nullopt: neither.
std::optional<std::chrono::milliseconds> retry_after(std::string_view value);

}  // namespace agent
