#include "supervisor/upstream/stdio_transport.h"

#include <unistd.h>

#include <algorithm>

#include "supervisor/base/json.h"
#include "supervisor/base/json_value.h"
#include "supervisor/base/log.h"

namespace upstream {
namespace {

using namespace std::chrono_literals;

constexpr auto kLastWords = 400ms;
constexpr auto kLastTurn = 5s;  // to read output from before the end of the process
constexpr size_t kErrorsKept = 2048, kErrorsTold = 300;

}  // namespace

StdioTransport::StdioTransport(Loop& loop, std::unique_ptr<ServerProcess> process, Variables secrets)
    : loop_(loop),
      process_(std::move(process)),
      secrets_(std::move(secrets)),
      outbox_(
          loop, process_->in(), mcp::OutboxLimits{}, [] {}, [this] { finish("does not read its requests"); }),
      tasks_(loop) {}

StdioTransport::~StdioTransport() {
  tasks_.cancel_all();
  outbox_.close();
}

void StdioTransport::begin(Listener listener) {
  listener_ = std::move(listener);
  tasks_.spawn(read());
  tasks_.spawn(read_errors());
  tasks_.spawn(watch_end());
}

void StdioTransport::send(const Json& message, Arguments arguments) {
  if (!arguments.text) return outbox_.send(dump_json(message));
  outbox_.send(text_before_arguments(message), std::move(arguments.text), kAfterArguments);
}

void StdioTransport::cancel(int64_t id) {
  send({{"jsonrpc", "2.0"},
        {"method", "notifications/cancelled"},
        {"params", {{"requestId", id}, {"reason", "the caller no longer waits"}}}},
       {});
}

void StdioTransport::close() {
  outbox_.close();
  process_->in().close();
}

std::string StdioTransport::last_words() const {
  std::string_view last = std::string_view(errors_).substr(errors_.size() - std::min(errors_.size(), kErrorsTold));
  while (last.ends_with('\n')) last.remove_suffix(1);
  return printable(last, 2 * kErrorsTold);
}

Task<> StdioTransport::read() {
  for (;;) {
    const auto space = lines_.space();
    const ssize_t got = ::read(process_->out().get(), space.data(), space.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) {
      co_await process_->out().readable();
      continue;
    }
    if (got <= 0) break;
    heard_ += static_cast<uint64_t>(got);
    lines_.commit(static_cast<size_t>(got));
    while (auto item = lines_.next()) {
      if (item->kind == mcp::LineSplitter::Kind::line) {
        const MessageText text{item->text, lines_.keep(*item)};
        is_taking_ = true;
        co_await listener_.message(text, {});
        is_taking_ = false;
      } else {
        listener_.too_long();
      }
    }
    co_await next_turn(loop_);  // other tasks first, however much the server sends
  }
  co_await sleep_for(loop_, kLastWords);  // the exit status would be a better reason
  finish("closed its output");
}

Task<> StdioTransport::read_errors() {
  char part[4096];
  for (;;) {
    const ssize_t got = ::read(process_->err().get(), part, sizeof part);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) {
      co_await process_->err().readable();
      continue;
    }
    if (got <= 0) co_return;
    errors_ += hide_secrets(secrets_, std::string_view(part, static_cast<size_t>(got)));
    if (errors_.size() > 2 * kErrorsKept) errors_.erase(0, errors_.size() - kErrorsKept);
    co_await next_turn(loop_);
  }
}

Task<> StdioTransport::watch_end() {
  std::string how = co_await process_->ended();
  const auto ended = Monotonic::now();
  do {
    co_await sleep_for(loop_, kLastWords / 4);  // to read the last output, which may wait for its turn
  } while (is_taking_ && Monotonic::now() - ended < kLastTurn);
  finish(std::move(how));
}

void StdioTransport::finish(std::string why) {
  if (auto ended = std::exchange(listener_.ended, {})) ended(Error{Code::unavailable, 0, std::move(why), {}, {}});
}

}  // namespace upstream
