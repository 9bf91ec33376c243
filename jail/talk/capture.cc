#include "jail/talk/capture.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "supervisor/base/json/json.h"

namespace jail {
namespace {
constexpr size_t kPart = 64 * 1024;
char read_part[kPart];  // shared by all captures: there is one thread, and no code waits between read() and take()
constexpr size_t kMaxLineBytes = 200;  // bytes of a line in a progress message

// Eight bytes at a time: three to four times as fast as std::count for any text. A program may write very fast.
uint64_t count_lines(std::string_view text) {
  constexpr uint64_t kOnes = 0x0101'0101'0101'0101, kLow = 0x7f * kOnes, kNewlines = '\n' * kOnes;
  uint64_t lines = 0;
  while (text.size() >= sizeof(uint64_t)) {
    uint64_t word = 0;
    memcpy(&word, text.data(), sizeof word);
    word ^= kNewlines;                                         // now each newline is a zero byte,
    uint64_t total = ~(((word & kLow) + kLow) | word | kLow);  // and exactly the top bits of the zero bytes are set
    lines += ((total >> 7) * kOnes) >> 56;                     // the sum of the eight bits
    text.remove_prefix(sizeof word);
  }
  return lines + static_cast<uint64_t>(std::count(text.begin(), text.end(), '\n'));
}
}  // namespace

Capture::Capture(CaptureLimits limits, std::function<bool(std::string_view)> keep, std::function<void()> overflowed,
                 std::function<void(uint64_t, std::string_view)> progressed)
    : limits_(limits), keep_(std::move(keep)), overflowed_(std::move(overflowed)), progressed_(std::move(progressed)) {}

void Capture::take(std::string_view part) {
  const NamedWork named_work(LoopWork::program_output);
  if (keep_ && bytes_ < limits_.max_bytes) {
    auto room = static_cast<size_t>(std::min<uint64_t>(part.size(), limits_.max_bytes - bytes_));
    if (!keep_(part.substr(0, room))) keep_ = nullptr;  // a full disk: continue without `keep`
  }
  bytes_ += part.size();
  lines_ += count_lines(part);
  terminal_.add(part, ready_);
  visible_.add(ready_, limits_.inline_bytes / 2);
  if (progressed_) {
    follow_lines(ready_);
    progressed_(bytes_, line_);
  }
  ready_.clear();
  if (bytes_ > limits_.max_bytes && !std::exchange(too_much_, true)) overflowed_();
}

void Capture::Ends::add(std::string_view part, size_t half) {
  bytes += part.size();
  if (head.size() < half) {
    const size_t n = std::min(half - head.size(), part.size());
    head.append(part.substr(0, n));
    part.remove_prefix(n);
  }
  if (part.size() >= half) {
    tail.assign(part.substr(part.size() - half));
  } else {
    tail.append(part);
    if (tail.size() > half) tail.erase(0, tail.size() - half);
  }
}

Capture::Ends Capture::shown_with_line() const {
  Ends all = visible_;
  all.add(terminal_.line(), limits_.inline_bytes / 2);
  return all;
}

void Capture::follow_lines(std::string_view part) {
  size_t end = part.rfind('\n');
  if (end == std::string_view::npos) {
    unfinished_.append(part.substr(0, kMaxLineBytes - unfinished_.size()));
    return;
  }
  std::string_view last = part.substr(0, end);
  size_t before = last.rfind('\n');
  if (before == std::string_view::npos) {  // the line began in an earlier part
    line_ = unfinished_.append(last.substr(0, kMaxLineBytes - unfinished_.size()));
  } else {
    line_ = last.substr(before + 1, kMaxLineBytes);
  }
  unfinished_ = part.substr(end + 1, kMaxLineBytes);
}

Task<> Capture::drain(AsyncFd& pipe, LoopShare& share) {
  for (;;) {
    if (share.is_used_up()) co_await share.turn();
    ssize_t n = 0;
    int error = 0;
    {
      const LoopShare::Use use(share);
      n = ::read(pipe.get(), read_part, kPart);
      error = n < 0 ? errno : 0;
      if (n > 0) take(std::string_view(read_part, static_cast<size_t>(n)));
    }
    if (error == EINTR) continue;
    if (error == EAGAIN) {
      co_await pipe.readable();
      continue;
    }
    if (n <= 0) co_return;
    if (static_cast<size_t>(n) == kPart) co_await pipe.readable();  // a fast writer must not occupy the loop
  }
}

void Capture::drain_now(AsyncFd& pipe) {
  int waiting = 0;
  if (::ioctl(pipe.get(), FIONREAD, &waiting) < 0) return;  // bounded: no more than the pipe holds at this moment
  while (waiting > 0) {
    ssize_t n = ::read(pipe.get(), read_part, std::min(kPart, static_cast<size_t>(waiting)));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    take(std::string_view(read_part, static_cast<size_t>(n)));
    waiting -= static_cast<int>(n);
  }
}

std::string Capture::text() const {
  const Ends visible = shown_with_line();
  if (!visible.is_cut()) return valid_utf8(visible.head + visible.tail);
  std::string_view head(visible.head), tail(visible.tail);
  head = head.substr(0, whole_utf8_prefix(head));
  while (!tail.empty() && (static_cast<unsigned char>(tail[0]) & 0xC0) == 0x80) tail.remove_prefix(1);
  uint64_t left_out = visible.bytes - head.size() - tail.size();
  return valid_utf8(head) + fmt::format("\n[... {} bytes left out ...]\n", left_out) + valid_utf8(tail);
}

std::string Capture::last(size_t bytes) const {
  const Ends visible = shown_with_line();
  std::string_view head(visible.head), tail(visible.tail);
  if (tail.size() >= bytes || visible.is_cut())
    return std::string(tail.substr(tail.size() - std::min(tail.size(), bytes)));
  head.remove_prefix(head.size() - std::min(head.size(), bytes - tail.size()));
  return std::string(head) + visible.tail;
}

}  // namespace jail
