// Packets between warderd and warder-egress: JSON objects in SOCK_SEQPACKET messages, the first kind with a descriptor.
// Source: both ends are Warder's own, but each reads the other's packets strictly. Used by: the service, the link.
// Errors: unavailable: the other end has gone; internal: too long, or no JSON object.
#pragma once
#include <string>

#include "supervisor/base/fd.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/loop.h"
#include "supervisor/base/result.h"

namespace egress {

inline constexpr size_t kMaxPacketBytes = 160 << 10;  // fits into the default size of a socket's buffer, 208 KiB

struct Packet {
  Json body;
  Fd descriptor;  // empty: no descriptor came
};

// Waits while the socket is full. `descriptor` is borrowed; -1: no descriptor.
Task<Result<>> send_packet(AsyncFd& socket, Json body, int descriptor = -1);
// Waits for the next packet.
Task<Result<Packet>> receive_packet(AsyncFd& socket);

}  // namespace egress
