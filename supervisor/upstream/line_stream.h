// LineStream: messages as lines on descriptors: reads them for a transport's listener, and writes them.
// Used by: stdio_transport.h, socket_transport.h. No errors: read() returns at the end of the stream, or when reading
// fails.
#pragma once
#include <functional>

#include "supervisor/base/line_splitter.h"
#include "supervisor/base/loop.h"
#include "supervisor/protocol/mcp/outbox.h"
#include "supervisor/upstream/transport.h"

namespace upstream {

class LineStream {
 public:
  // `out`: a stream socket that takes the messages; it must outlive the object. `on_broken` is called when the other
  // side does not read.
  LineStream(Loop& loop, AsyncFd& out, std::function<void()> on_broken)
      : loop_(loop),
        outbox_(
            loop, out, mcp::OutboxLimits{}, [] {}, std::move(on_broken)) {}

  // Gives each line of `in` to `listener`. Both must outlive the task.
  Task<> read(AsyncFd& in, Transport::Listener& listener);
  void send(const Json& message, Transport::Arguments arguments);
  void send_cancelled(int64_t id);
  void close() { outbox_.close(); }
  bool full() const { return outbox_.full(); }
  uint64_t received() const { return received_; }  // bytes
  bool is_taking() const { return is_taking_; }    // the listener has a message in work

 private:
  Loop& loop_;
  mcp::Outbox outbox_;
  LineSplitter lines_{kMaxMessage};
  uint64_t received_ = 0;
  bool is_taking_ = false;
};

}  // namespace upstream
