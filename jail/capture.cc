#include "jail/capture.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "supervisor/base/json.h"

namespace jail {
namespace {
constexpr size_t kPart = 64 * 1024;
constexpr size_t kLineShown = 200;  // bytes of a line in a progress message
}  // namespace

Capture::Capture(CaptureLimits limits, std::function<bool(std::string_view)> keep, std::function<void()> overflowed,
                 std::function<void(uint64_t, std::string_view)> progressed)
    : limits_(limits), keep_(std::move(keep)), overflowed_(std::move(overflowed)), progressed_(std::move(progressed)) {}

void Capture::take(std::string_view part) {
  if (keep_ && bytes_ < limits_.kept_bytes) {
    auto room = static_cast<size_t>(std::min<uint64_t>(part.size(), limits_.kept_bytes - bytes_));
    if (!keep_(part.substr(0, room))) keep_ = nullptr;  // a full disk: go on without
  }
  bytes_ += part.size();
  lines_ += static_cast<uint64_t>(std::count(part.begin(), part.end(), '\n'));
  size_t half = static_cast<size_t>(limits_.inline_bytes / 2);
  std::string_view rest = part;
  if (head_.size() < half) {
    size_t n = std::min(half - head_.size(), rest.size());
    head_.append(rest.substr(0, n));
    rest.remove_prefix(n);
  }
  if (rest.size() >= half) {
    tail_.assign(rest.substr(rest.size() - half));
  } else {
    tail_.append(rest);
    if (tail_.size() > half) tail_.erase(0, tail_.size() - half);
  }
  if (progressed_) {
    size_t end = part.find_last_of('\n');
    if (end != std::string_view::npos) {
      size_t start = end == 0 ? 0 : part.find_last_of('\n', end - 1) + 1;  // npos + 1 is 0
      line_ = std::string(part.substr(start, std::min(end - start, kLineShown)));
    }
    progressed_(bytes_, line_);
  }
  if (bytes_ > limits_.kept_bytes && !std::exchange(too_much_, true)) overflowed_();
}

Task<> Capture::drain(AsyncFd& pipe) {
  std::string part(kPart, '\0');
  for (;;) {
    ssize_t n = ::read(pipe.get(), part.data(), part.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {
      co_await pipe.readable();
      continue;
    }
    if (n <= 0) co_return;
    take(std::string_view(part).substr(0, static_cast<size_t>(n)));
    if (static_cast<size_t>(n) == part.size()) co_await pipe.readable();  // a flood must not keep the loop to itself
  }
}

std::string Capture::text() const {
  if (!truncated()) return valid_utf8(head_ + tail_);
  std::string_view head(head_), tail(tail_);
  head = head.substr(0, whole_utf8_prefix(head));
  while (!tail.empty() && (static_cast<unsigned char>(tail[0]) & 0xC0) == 0x80) tail.remove_prefix(1);
  uint64_t left_out = bytes_ - head.size() - tail.size();
  return valid_utf8(head) + fmt::format("\n[... {} bytes left out ...]\n", left_out) + valid_utf8(tail);
}

}  // namespace jail
