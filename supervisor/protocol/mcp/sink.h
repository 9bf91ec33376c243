// Sink: the way from a Conversation to its client. Each transport implements it: a Connection is the sink of one
// socket. A transport with several streams to one client sends an answer, and all messages about a request, on the
// stream that the request came from. Used by: Conversation. No errors: if the client has left, the sink drops the
// lines. No function of a sink may destroy the Conversation, or call functions of it that are not const, before it
// returns.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "supervisor/base/loop.h"
#include "supervisor/protocol/mcp/jsonrpc.h"

namespace mcp {

class Sink {
 public:
  virtual ~Sink() = default;

  // Sends the answer to the request `id`; nullptr: an error for a message without a certain id. `error`: the code of an
  // answer that is an error. An array of requests is answered with one line; `id` is then the id of its first answer,
  // and `error` is empty. Lines have no newline.
  virtual void answer(const RequestId* id, std::string line, std::optional<ErrorCode> error) = 0;

  // if_room: the line is dropped while the client reads too slowly.
  enum class Delivery { if_room, always };
  // Sends a notification, or a request of the server. `about`: the client's request that the line belongs to, which may
  // have been answered; nullptr: the line belongs to no request.
  virtual void notify(const RequestId* about, std::string line, Delivery delivery) = 0;

  // Whether so much is unread that the client is asked no question now.
  virtual bool full() const = 0;
  // Whether a new request must wait, because the user has too many unread answers (UnreadShare::is_over()).
  virtual bool is_over_limit() const = 0;
  // Fires `room` once when is_over_limit() is false (UnreadShare::wait_for_room()).
  virtual void wait_for_room(const std::shared_ptr<Event>& room) = 0;

  // Conversation::settings() has changed.
  virtual void settings_changed() {}
  // A request began or ended. At its end, its answer was passed to answer() before.
  virtual void calls_changed() {}
};

}  // namespace mcp
