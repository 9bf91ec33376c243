// ModelFormat: one provider's form of requests and replies over HTTP. ReplyReader: reads one reply, from a stream of
// server-sent events or from a plain body.
// Source of replies: the model's server, which is not trusted. Used by: ModelClient.
// Errors of a reader: unavailable, the reply is broken or the server reports a fault: the request may be sent again.
//                     exhausted, the reply has too many calls.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/result.h"
#include "supervisor/programs/agent/conversation.h"
#include "supervisor/protocol/http/client.h"

namespace agent {

inline constexpr size_t kMaxRequests = 64;  // calls in one reply

class ReplyReader {
 public:
  // Called when the model begins to write a call, with the name of the tool.
  using OnRequest = std::function<void(const std::string& name)>;
  explicit ReplyReader(OnRequest on_request) : on_request_(std::move(on_request)) {}
  virtual ~ReplyReader() = default;
  ReplyReader(const ReplyReader&) = delete;
  ReplyReader& operator=(const ReplyReader&) = delete;

  // The data of one event of a stream.
  virtual Result<> read_event(std::string_view data) = 0;
  // The body of a reply without a stream.
  virtual Result<> read_body(std::string_view body) = 0;
  // Whether the reply has ended as it should. A stream that ends earlier is broken.
  bool is_whole() const { return complete_; }
  ModelReply take() { return std::move(reply_); }

 protected:
  // Appends a call. Errors: exhausted.
  Result<ToolRequest*> begin_request(std::string id, std::string name);

  ModelReply reply_;
  bool complete_ = false;
  OnRequest on_request_;
};

class ModelFormat {
 public:
  virtual ~ModelFormat() = default;
  // Below the base URL: "/chat/completions".
  virtual std::string path() const = 0;
  // The headers with the key; empty: no header.
  virtual http::Headers headers(const std::string& key) const = 0;
  // The body of a request for a streamed reply.
  virtual Json request(const std::string& model, const std::string& instructions, const std::vector<ShownTool>& tools,
                       const std::vector<ChatMessage>& messages) const = 0;
  virtual std::unique_ptr<ReplyReader> reader(ReplyReader::OnRequest on_request) const = 0;
};

std::unique_ptr<ModelFormat> openai_format();
std::unique_ptr<ModelFormat> anthropic_format();

// The sentence in the body or event of an error: {"error": {"message": ...}}. Empty: absent.
std::string error_text(const Json& body);
// The arguments of a call as an object; an empty object if they are not one: providers refuse other values in the
// history of a conversation.
Json arguments_object(const ToolRequest& request);

}  // namespace agent
