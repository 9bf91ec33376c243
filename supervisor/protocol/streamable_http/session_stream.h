// SessionStream: the way of messages to the client for one POST of a session, or for all messages without a request
// (GET). Sends one JSON answer, or a stream of events. Events are stored, so that a client with a broken connection
// gets each one once and in order when it resumes the stream by its Last-Event-ID. Source: specification 2025-11-25,
// basic/transports, "Resumability and Redelivery". Made by: HttpSession. No errors.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>

#include "supervisor/base/loop.h"
#include "supervisor/protocol/mcp/sink.h"
#include "supervisor/protocol/streamable_http/connection.h"
#include "supervisor/protocol/streamable_http/reply.h"

namespace streamable_http {

struct StreamLimits {
  size_t replay_bytes = 1 << 20;             // stored events of one stream; the newest event always stays
  std::chrono::milliseconds decision{40};    // an answer that comes sooner is plain JSON, without a stream
  std::chrono::milliseconds retry{1'000};    // asked of clients before they resume a stream
  std::chrono::milliseconds orphan{60'000};  // how long a stream without a client stays
};

class SessionStream : public std::enable_shared_from_this<SessionStream> {
 public:
  enum class Form { json_only, json_or_events };
  struct Settings {
    uint64_t number = 0;  // in its session; 0: the stream of GET, which never finishes
    bool primes = false;  // events begin with one that has only an id, since 2025-11-25
    StreamLimits limits;
    std::function<void(SessionStream&)> on_lost = {};  // no client has come for the events; from a timer
  };
  SessionStream(Loop& loop, Settings settings) : loop_(loop), settings_(std::move(settings)) {}

  // The client's request, which is to be answered. `headers`: further fields of the reply, each with its \r\n.
  void attach(ServerReply& reply, Form form);
  void set_headers(std::string headers) { headers_ = std::move(headers); }
  // The client of GET: the reply becomes a stream of events at once.
  void attach_events(ServerReply& reply);
  // Continues after the event with the number `after`. An earlier reply of the stream ends: the newer client wins.
  // False: that event is not known, or later events are lost.
  bool resume(ServerReply& reply, uint64_t after);
  // The reply cannot be used any more. Another reply of the stream is not affected.
  void detach(const ServerReply& reply);

  void notify(std::string line, mcp::Sink::Delivery delivery);
  // The last message.
  void finish(int status, std::string line);
  // The request was cancelled: there is no answer.
  void finish_without_answer();
  // The session ends.
  void abandon(HttpAnswer answer);
  // Drops the events that no client has got. They are lost.
  void drop_events();

  uint64_t number() const { return settings_.number; }
  bool is_attached() const { return reply_ != nullptr; }
  bool is_finished() const { return finished_; }
  // Whether a client may come back for events.
  bool is_resumable() const { return started_; }
  bool is_full() const { return reply_ && reply_->outbox().full(); }
  size_t saved_bytes() const { return saved_bytes_; }
  size_t unsent_bytes() const { return unsent_bytes_; }  // the part that no client has got

 private:
  struct QueuedEvent {
    uint64_t number;
    std::string line;
  };
  void begin_events();
  void add_event(std::string line);
  std::string id_of(uint64_t event) const;
  void wait_for_client();

  Loop& loop_;
  const Settings settings_;
  std::string headers_;
  ServerReply* reply_ = nullptr;
  Form form_ = Form::json_or_events;
  std::list<QueuedEvent> queued_;  // mostly empty: an empty deque holds half a KiB
  size_t saved_bytes_ = 0, unsent_bytes_ = 0;
  uint64_t next_ = 1;
  bool started_ = false;  // events
  bool finished_ = false;
  Deadline decision_, lost_;
};

// Attaches a reply to a stream for as long as it exists.
class StreamReader : public Responder {
 public:
  StreamReader(std::shared_ptr<SessionStream> stream, ServerReply& reply) : stream_(std::move(stream)), reply_(reply) {}
  ~StreamReader() override { stream_->detach(reply_); }

 private:
  std::shared_ptr<SessionStream> stream_;
  ServerReply& reply_;
};

}  // namespace streamable_http
