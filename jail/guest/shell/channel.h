// The guest protocol for the shell's programs: whole JSON messages over one SOCK_SEQPACKET socket
// (jail/guest/README.md).
// Used by: jail/guest/shell/runner.cc, jail/guest/shell/warder.cc. Errors: give_up() prints the reason on standard
// error and exits with kExitProtocol.
#pragma once
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_text.h"
#include "supervisor/base/json/json_value.h"

namespace guest {

inline constexpr size_t kPartBytes = 65535;
inline constexpr size_t kDownBytes = 64 << 20;
inline constexpr int kExitProtocol = 76;  // sysexits.h

// The socket's number in the shell and in programs that it starts. Scripts do not use this number, and bash uses 255.
inline constexpr int kCallSocket = 200;

[[noreturn]] inline void give_up(std::string_view why) {
  std::string line = "warder: " + std::string(why) + "\n";
  (void)!::write(STDERR_FILENO, line.data(), line.size());
  ::_exit(kExitProtocol);
}

enum class PeerState { there, exited };

inline PeerState send_message(int socket, const Json& message) {
  const std::string text = dump_json(message);
  std::string packet;
  size_t at = 0;
  do {
    size_t n = std::min(kPartBytes, text.size() - at);
    packet.assign(1, at + n == text.size() ? 'F' : 'M');
    packet.append(text, at, n);
    ssize_t sent = ::send(socket, packet.data(), packet.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return PeerState::exited;
    at += n;
  } while (at < text.size());
  return PeerState::there;
}

// The next message; empty at the end of the stream. A text that is not JSON gives a discarded value
// (Json::is_discarded).
inline std::optional<Json> receive_message(int socket) {
  std::string text;
  std::string packet(kPartBytes + 2, '\0');  // one byte more than the longest packet, to detect longer ones
  for (;;) {
    ssize_t n = ::recv(socket, packet.data(), packet.size(), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) give_up(std::string("the guest socket: ") + ::strerror(errno));
    if (n == 0) return std::nullopt;
    size_t size = static_cast<size_t>(n);
    if (size > kPartBytes + 1 || (packet[0] != 'F' && packet[0] != 'M'))
      give_up("a packet is too long or begins with neither F nor M");
    text.append(packet, 1, size - 1);
    if (text.size() > kDownBytes) give_up("a message is longer than 64 MiB");
    if (packet[0] == 'F') return parse_own_json(text).value_or(Json::value_t::discarded);
  }
}

}  // namespace guest
