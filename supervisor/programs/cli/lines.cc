#include "supervisor/programs/cli/lines.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace cli {
namespace {

constexpr size_t kKeptBytes = 1 << 20;  // capacity that an empty buffer may have

void forget(std::string& text) {
  text.clear();
  if (text.capacity() > kKeptBytes) text.shrink_to_fit();
}

ssize_t write_some(int fd, const char* data, size_t size) {
  const ssize_t sent = ::send(fd, data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent >= 0 || errno != ENOTSOCK) return sent;
  return ::write(fd, data, size);
}

}  // namespace

ssize_t fill(LineSplitter& lines, int fd) {
  const auto space = lines.space();
  const ssize_t got = ::read(fd, space.data(), space.size());
  if (got < 0) return -errno;
  lines.commit(static_cast<size_t>(got));
  return got;
}

void LineOutbox::add(std::string_view line) {
  data_ += line;
  data_ += '\n';
}

LineOutbox::State LineOutbox::flush(int fd) {
  while (sent_ < data_.size()) {
    const ssize_t wrote = write_some(fd, data_.data() + sent_, data_.size() - sent_);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return errno == EAGAIN ? State::blocked : State::broken;
    const auto written = std::string_view(data_).substr(sent_, static_cast<size_t>(wrote));
    const size_t newline = written.rfind('\n');
    if (newline != std::string_view::npos) line_start_ = sent_ + newline + 1;
    sent_ += written.size();
    if (line_start_ > kHighWaterBytes) {
      data_.erase(0, line_start_);
      sent_ -= line_start_;
      line_start_ = 0;
    }
  }
  forget(data_);
  sent_ = line_start_ = 0;
  return State::drained;
}

std::string LineOutbox::take_unsent() {
  std::string unsent = data_.substr(line_start_);
  forget(data_);
  sent_ = line_start_ = 0;
  return unsent;
}

int open_for_writing(int fd) {
  struct stat about;
  if (::fstat(fd, &about) < 0 || !(S_ISFIFO(about.st_mode) || S_ISCHR(about.st_mode))) return fd;
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  const int retry = ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (retry >= 0) return retry;
  (void)::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);  // no /proc, or another user's pipe
  return fd;
}

}  // namespace cli
