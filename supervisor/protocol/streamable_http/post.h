// PostResponder: answers one POST: parses its body, on a thread beside the loop where it is large, and passes it to the
// era that it belongs to. A request of 2026-07-28 gets a ModernPost; an older one goes to its session.
// Made by: HttpEndpoint. Errors: of the client's message: answered.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "supervisor/base/loop.h"
#include "supervisor/protocol/mcp/conversation.h"
#include "supervisor/protocol/mcp/sink.h"
#include "supervisor/protocol/streamable_http/connection.h"
#include "supervisor/protocol/streamable_http/sessions.h"

namespace streamable_http {

// ModernPost: one message of 2026-07-28 or later, which is complete in itself. It is the client of a conversation with
// this one message. Destroying it cancels the request, as clients of this era cancel. A call that was
// answered with questions is not cancelled: any later POST of the principal may repeat it.
class ModernPost : public Responder, private mcp::Sink {
 public:
  enum class Form { json_only, json_or_events };  // what the client accepts
  ModernPost(Loop& loop, mcp::Server& server, ServerReply& reply, mcp::Conversation::Client client, Form form,
             const HttpLimits& limits);
  ~ModernPost() override;
  void receive(std::string_view text, mcp::IncomingJson json);

 private:
  void answer(const mcp::RequestId* id, std::string line, std::optional<mcp::ErrorCode> error) override;
  void notify(const mcp::RequestId* about, std::string line, Delivery delivery) override;
  bool full() const override { return reply_.outbox().full(); }
  bool is_over_limit() const override { return reply_.outbox().is_over_limit(); }
  void wait_for_room(const std::shared_ptr<Event>& room) override { reply_.outbox().wait_for_room(room); }

  ServerReply& reply_;
  const Form form_;
  Deadline silence_;  // then the answer becomes a stream, with comments that show that the request runs
  std::optional<mcp::Conversation> conversation_;  // empty only in the destructor
};

class PostResponder : public Responder {
 public:
  struct Parts {
    Loop& loop;
    mcp::Server& server;
    HttpSessions& sessions;
    const HttpLimits& limits;
  };
  PostResponder(Parts parts, ServerReply& reply, mcp::Conversation::Client client, http::IncomingRequest request);
  ~PostResponder() override;

 private:
  Task<> run(http::IncomingRequest request);
  // `text`: the body of the request, moved out of the request.
  void take(const http::IncomingRequest& request, std::string_view text, mcp::IncomingJson json);
  void take_modern(const http::IncomingRequest& request, std::string_view text, mcp::IncomingJson json);
  void take_legacy(const http::IncomingRequest& request, std::string_view text, mcp::IncomingJson json);
  void refuse(int status, const std::optional<mcp::RequestId>& id, const mcp::RpcError& error);

  Parts parts_;
  ServerReply& reply_;
  mcp::Conversation::Client client_;
  std::unique_ptr<Responder> next_;       // of the era
  std::shared_ptr<PostResponder*> self_;  // for a callback that may run after the destructor
  std::optional<Task<>> task_;
};

// The HTTP status for an answer of 2026-07-28.
int modern_status(std::optional<mcp::ErrorCode> error);

}  // namespace streamable_http
