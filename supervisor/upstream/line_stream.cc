#include "supervisor/upstream/line_stream.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"

namespace upstream {

Task<> LineStream::read(AsyncFd& in, Transport::Listener& listener) {
  for (;;) {
    const auto space = lines_.space();
    const ssize_t got = ::read(in.get(), space.data(), space.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) {
      co_await in.readable();
      continue;
    }
    if (got <= 0) co_return;
    received_ += static_cast<uint64_t>(got);
    lines_.commit(static_cast<size_t>(got));
    while (auto item = lines_.next()) {
      if (item->kind == LineSplitter::Kind::line) {
        const MessageText text{item->text, lines_.keep(*item)};
        is_taking_ = true;
        co_await listener.message(text, {});
        is_taking_ = false;
      } else {
        listener.too_long();
      }
    }
    co_await next_turn(loop_);  // other tasks first, however much the other side sends
  }
}

void LineStream::send(const Json& message, Transport::Arguments arguments) {
  if (!arguments.text) return outbox_.send(dump_json(message));
  outbox_.send(text_before_arguments(message), std::move(arguments.text), kAfterArguments);
}

void LineStream::send_cancelled(int64_t id) {
  const Json message = {{"jsonrpc", "2.0"},
                        {"method", "notifications/cancelled"},
                        {"params", {{"requestId", id}, {"reason", "the caller no longer waits"}}}};
  outbox_.send(dump_json(message));
}

}  // namespace upstream
