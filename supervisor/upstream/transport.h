// Transport: carries the messages of a Client to one server, and back. Over a process's standard streams
// (stdio_transport.h), or over HTTP (http_transport.h).
// The server is not trusted: what comes back is bounded here in size, and by the client in what it means.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "supervisor/base/json_fwd.h"
#include "supervisor/base/result.h"
#include "supervisor/base/task.h"

namespace upstream {

constexpr size_t kMaxMessage = 64 << 20;              // from a server
inline constexpr const char* kModern = "2026-07-28";  // the version of the protocol without a handshake

// The bytes of a message.
struct MessageText {
  std::string_view bytes;
  std::shared_ptr<const void> kept;  // what holds them; empty: they are valid until the task first waits
};

class Transport {
 public:
  // None may destroy the transport: what they lead to is done in a later turn of the loop.
  struct Listener {
    // JSON, if the server is honest. `of`: the request in whose reply it came, where the transport has such. Awaited
    // before anything else is read.
    std::function<Task<>(MessageText text, std::optional<int64_t> of)> message;
    std::function<void(size_t bytes)> noise;                // that are part of no message
    std::function<void()> too_long;                         // a message was, and is lost
    std::function<void(int64_t id, Error why)> unanswered;  // that request will have no answer
    std::function<void(int64_t id)> not_taken;  // the server did nothing: it has forgotten us. An end follows
    std::function<void(Error why)> ended;       // nothing more will come; once
  };
  using Headers = std::vector<std::pair<std::string, std::string>>;
  // What goes with a call beside its message.
  struct Arguments {
    std::shared_ptr<const std::string> text;  // params.arguments as JSON; nullptr: the message is no call
    Headers mirrored;                         // what of them a server over HTTP wants to see as headers
  };

  Transport() = default;
  virtual ~Transport() = default;
  Transport(const Transport&) = delete;

  // Before anything else, once.
  virtual void begin(Listener listener) = 0;
  // `message` is small, and params are the last of a call's: its arguments are put into them.
  virtual void send(const Json& message, Arguments arguments) = 0;
  // Nobody waits for the answer of that request any more.
  virtual void cancel(int64_t id) = 0;
  // That request was answered.
  virtual void answered(int64_t id) = 0;
  // The version of the protocol in which what follows is said; empty: none yet.
  virtual void speak(const std::string& version) = 0;
  // Asks the server to end, or tells it that it is needed no more. Then `ended` comes, or time passes.
  virtual void close() = 0;

  virtual bool full() const = 0;                         // what is told without need is better not told
  virtual uint64_t heard() const = 0;                    // bytes, ever
  virtual std::string last_words() const { return {}; }  // printable
};

// The text of a call up to its arguments; behind them comes kAfterArguments.
std::string text_before_arguments(const Json& message);
constexpr std::string_view kAfterArguments = "}}";

}  // namespace upstream
