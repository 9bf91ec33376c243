#include "supervisor/upstream/stdio_transport.h"

#include <unistd.h>

#include <algorithm>

#include "supervisor/base/log.h"

namespace upstream {
namespace {

using namespace std::chrono_literals;

constexpr auto kLastWords = 400ms;
constexpr auto kLastTurn = 5s;  // to read output from before the end of the process
constexpr size_t kErrorsKept = 2048, kMaxReportedErrors = 300;

}  // namespace

StdioTransport::StdioTransport(Loop& loop, std::unique_ptr<ServerProcess> process, Variables secrets)
    : loop_(loop),
      process_(std::move(process)),
      secrets_(std::move(secrets)),
      lines_(loop, process_->in(), [this] { listener_.end("does not read its requests"); }),
      tasks_(loop) {}

StdioTransport::~StdioTransport() {
  tasks_.cancel_all();
  lines_.close();
}

void StdioTransport::begin(Listener listener) {
  listener_ = std::move(listener);
  tasks_.spawn(read());
  tasks_.spawn(read_errors());
  tasks_.spawn(watch_end());
}

void StdioTransport::close() {
  lines_.close();
  process_->in().close();
}

std::string StdioTransport::last_words() const {
  std::string_view last =
      std::string_view(errors_).substr(errors_.size() - std::min(errors_.size(), kMaxReportedErrors));
  while (last.ends_with('\n')) last.remove_suffix(1);
  return printable(last, 2 * kMaxReportedErrors);
}

Task<> StdioTransport::read() {
  co_await lines_.read(process_->out(), listener_);
  co_await sleep_for(loop_, kLastWords);  // the exit status would be a better reason
  listener_.end("closed its output");
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
  } while (lines_.is_taking() && Monotonic::now() - ended < kLastTurn);
  listener_.end(std::move(how));
}

}  // namespace upstream
