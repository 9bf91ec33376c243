// ClientHelloReader: finds the server's name (SNI) in the first bytes of a TLS connection, RFC 8446, section 4.1.2 and
// RFC 6066, section 3, so that a tunnel goes to the host that it was opened for.
// Source: hostile code in a jail. Bounded: the first message has at most kMaxHelloBytes, in at most kMaxRecords
// records. The bytes are not decrypted. With Encrypted Client Hello, the name is the outer one. Used by: the proxy's
// tunnels.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace egress {

inline constexpr size_t kMaxHelloBytes = 64 << 10;

class ClientHelloReader {
 public:
  enum class State {
    more,       // further bytes are needed
    found,      // name() is the server's name
    no_name,    // the message is whole and names no server
    not_tls,    // the first bytes are of another protocol
    malformed,  // TLS, but not a valid first message
    too_long,
  };
  // Reads the next bytes of the connection. After another state than `more` it takes no bytes.
  State feed(std::string_view bytes);
  // In lower case. At most 255 bytes; not checked otherwise.
  const std::string& name() const { return name_; }

 private:
  bool take_records();
  State read_message();

  std::string record_;   // bytes of an unfinished record
  std::string message_;  // of the handshake, without the records' heads
  size_t records_ = 0;
  State state_ = State::more;
  std::string name_;
};

}  // namespace egress
