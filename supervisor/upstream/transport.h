// Transport: carries the messages between a Client and one upstream server. It uses a process's standard streams
// (stdio_transport.h) or HTTP (http_transport.h).
// The server is not trusted: the transport bounds the size of its messages, the client checks their content.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "supervisor/base/json/json_fwd.h"
#include "supervisor/base/result.h"
#include "supervisor/base/task.h"
#include "supervisor/upstream/secrets.h"

namespace upstream {

constexpr size_t kMaxMessage = 64 << 20;              // bytes of one message from a server
inline constexpr const char* kModern = "2026-07-28";  // the version of the protocol without a handshake

// The bytes of one message.
struct MessageText {
  std::string_view bytes;
  std::shared_ptr<const char> saved;  // owns the bytes; empty: they are valid until the task first waits
};

class Transport {
 public:
  // Callbacks. No callback may destroy the transport: work that would do so is deferred to a later turn of the loop.
  struct Listener {
    // A message; JSON if the server is honest. `of`: the request that the HTTP reply belongs to; empty: not known. The
    // transport awaits the task before it reads more.
    std::function<Task<>(MessageText text, std::optional<int64_t> of)> message;
    std::function<void(size_t bytes)> noise;                // bytes that are part of no message
    std::function<void()> too_long;                         // a message exceeded kMaxMessage and is lost
    std::function<void(int64_t id, Error why)> unanswered;  // the request will get no answer
    std::function<void(int64_t id)> not_accepted;  // the server forgot the session and did nothing; `ended` follows
    std::function<void(Error why)> ended;          // no more messages will come; called once

    // Calls `ended` with the code unavailable; a second call has no effect.
    void end(std::string why) {
      if (auto call = std::exchange(ended, {})) call(Error{Code::unavailable, 0, std::move(why), {}, {}});
    }
  };
  using Headers = std::vector<std::pair<std::string, std::string>>;
  // The parts of a tools/call request beside its message.
  struct Arguments {
    std::shared_ptr<const std::string> text;  // params.arguments as JSON; nullptr: no tools/call
    Headers mirrored;                         // arguments that a server over HTTP wants as headers, too
  };

  Transport() = default;
  virtual ~Transport() = default;
  Transport(const Transport&) = delete;

  // Must be called first, and once.
  virtual void begin(Listener listener) = 0;
  // Sends `message`, which is small. In a call, params is its last member, and the arguments are appended to params.
  virtual void send(const Json& message, Arguments arguments) = 0;
  // The caller of that request no longer waits for its answer.
  virtual void cancel(int64_t id) = 0;
  // That request was answered.
  virtual void answered(int64_t id) = 0;
  // The protocol version of all later messages; empty: not known yet.
  virtual void speak(const std::string& version) = 0;
  // Asks the server to end, or to end the session. `ended` follows, unless the server does not react.
  virtual void close() = 0;

  virtual bool full() const = 0;          // true: leave out optional messages
  virtual uint64_t received() const = 0;  // grows with each byte and each reply received
  // Whether a received message is in work: further ones are not read meanwhile.
  virtual bool is_taking() const { return false; }
  // Whether the last request failed for want of a token: then the server took none, and another request is in vain.
  virtual bool needs_login() const { return false; }
  // Texts to hide in the server's messages that were not known when the transport was made: tokens.
  virtual Variables late_secrets() const { return {}; }
  virtual std::string last_words() const { return {}; }  // end of the standard error, printable
};

// The JSON text of a call up to its arguments; kAfterArguments follows the arguments.
std::string text_before_arguments(const Json& message);
constexpr std::string_view kAfterArguments = "}}";

}  // namespace upstream
