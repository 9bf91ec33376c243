// HttpSession: one client of 2025-03-26 to 2025-11-25 over HTTP. Messages of the client come by POST. Messages to the
// client go out on the streams of the requests that they belong to. A lost connection cancels no request: the client
// may resume the stream. Made by: HttpSessions, for each `initialize`. The destructor cancels every request that still
// runs. Errors: of the client's messages: answered.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "supervisor/base/clock.h"
#include "supervisor/base/loop.h"
#include "supervisor/protocol/mcp/conversation.h"
#include "supervisor/protocol/mcp/sink.h"
#include "supervisor/protocol/streamable_http/session_stream.h"

namespace streamable_http {

struct SessionLimits {
  StreamLimits stream;
  mcp::ConversationLimits conversation;
  size_t finished_streams = 64;     // stored for a client that lost its connection at the last event
  size_t finished_bytes = 4 << 20;  // of the events of these streams
  size_t unsent_bytes = 8 << 20;    // of events without a client: beyond it the client is asked no question
  std::chrono::milliseconds idle{1'800'000};
  size_t sessions = 4096;
  size_t sessions_per_principal = 64;
};

class HttpSession : private mcp::Sink {
 public:
  // All references must outlive the session.
  HttpSession(Loop& loop, mcp::Server& server, std::string id, mcp::Conversation::Client client,
              const SessionLimits& limits);
  ~HttpSession() override;
  HttpSession(const HttpSession&) = delete;
  HttpSession& operator=(const HttpSession&) = delete;

  const std::string& id() const { return id_; }
  const mcp::Conversation::Client& client() const { return conversation_->client(); }
  bool is_initialized() const { return version_.has_value(); }
  // When the client last used the session; nullopt: a request runs in it, or the client reads a stream of it.
  std::optional<Monotonic::time_point> idle_since() const;

  // A message, or an array of messages. nullptr: `reply` has ended.
  std::unique_ptr<Responder> post(std::string_view text, mcp::IncomingJson json, ServerReply& reply,
                                  SessionStream::Form form);
  // GET: the stream for messages without a request, or the stream that `last_event` belongs to. nullptr: `reply` has
  // ended with an error, because the event is not known.
  std::unique_ptr<Responder> open_stream(ServerReply& reply, const std::string* last_event);

 private:
  void answer(const mcp::RequestId* id, std::string line, std::optional<mcp::ErrorCode> error) override;
  void notify(const mcp::RequestId* about, std::string line, Delivery delivery) override;
  bool full() const override;
  bool is_over_limit() const override { return unread_.is_over(); }
  void wait_for_room(const std::shared_ptr<Event>& room) override { unread_.wait_for_room(room); }
  void settings_changed() override;
  void calls_changed() override;

  std::shared_ptr<SessionStream> add_stream();
  std::shared_ptr<SessionStream> stream_of(const mcp::RequestId* id) const;
  void end_requests_of(const SessionStream& stream);
  void end_cancelled();
  void forget_old_streams();
  void lost(SessionStream& stream);
  void count_unsent();
  void give_up();

  Loop& loop_;
  const std::string id_;
  const SessionLimits& limits_;
  std::optional<mcp::Version> version_;
  Monotonic::time_point used_at_;
  mcp::UnreadShare unread_;
  uint64_t next_stream_ = 1;
  std::map<uint64_t, std::shared_ptr<SessionStream>> streams_;         // by number; 0: of GET
  std::map<mcp::RequestId, std::shared_ptr<SessionStream>> requests_;  // requests that were not answered
  std::shared_ptr<SessionStream> receiving_;                           // of the message that is being received
  std::optional<mcp::Conversation> conversation_;                      // empty only in the destructor
};

// The answer to requests of a session that does not exist, or belongs to another principal.
HttpAnswer unknown_session();

}  // namespace streamable_http
