#include "supervisor/base/journal_log.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

constexpr size_t kLongestValue = 4096;  // bytes; a datagram of several fields stays far below a socket's limit

// Appends "NAME=value". A value with line breaks is appended as name, length (8 bytes, little-endian) and bytes.
void append(std::string& datagram, std::string_view name, std::string_view value) {
  value = value.substr(0, kLongestValue);
  datagram += name;
  if (value.find('\n') == value.npos) {
    datagram.append("=").append(value);
  } else {
    datagram += '\n';
    for (int shift = 0; shift < 64; shift += 8)  // little-endian
      datagram += static_cast<char>((static_cast<uint64_t>(value.size()) >> shift) & 0xff);
    datagram += value;
  }
  datagram += '\n';
}

}  // namespace

JournalSocket::JournalSocket(std::string path)
    : path_(std::move(path)), socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {}

bool JournalSocket::send(LogLevel level, std::string_view message_id, std::string_view text,
                         const std::vector<LogField>& fields) const {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (!socket_ || path_.size() >= sizeof address.sun_path) return false;
  std::memcpy(address.sun_path, path_.c_str(), path_.size() + 1);
  std::string datagram;
  append(datagram, "MESSAGE", text);
  append(datagram, "PRIORITY", std::to_string(static_cast<int>(level)));
  append(datagram, "SYSLOG_IDENTIFIER", "warderd");
  append(datagram, "MESSAGE_ID", message_id);
  for (const LogField& field : fields)
    if (!field.value.empty()) append(datagram, field.name, field.value);
  const ssize_t sent = ::sendto(socket_.get(), datagram.data(), datagram.size(), MSG_NOSIGNAL,
                                reinterpret_cast<const sockaddr*>(&address), sizeof address);
  return sent == static_cast<ssize_t>(datagram.size());
}

bool is_journal_stream(int fd, const char* journal_stream) {
  struct stat status {};
  if (!journal_stream || ::fstat(fd, &status) < 0) return false;
  return std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino) == journal_stream;
}

void log_fields(LogLevel level, std::string_view message_id, const std::string& text,
                const std::vector<LogField>& fields) {
  if (level > log_level()) return;
  static const bool journal = is_journal_stream(STDERR_FILENO, std::getenv("JOURNAL_STREAM"));
  static const JournalSocket socket;
  if (!journal || !socket.send(level, message_id, text, fields)) log_line(level, text);
}
