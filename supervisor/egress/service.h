// EgressService: warder-egress's side of its socket. Each client is a warderd, which hands over the listener of a jail
// with the rules for it, and gets entries for its audit, questions, and the totals.
// Source: the socket's file mode decides which users may connect: a client names secrets, and hosts to reach. When a
// client goes, its jails' connections end. Used by: main.cc. Errors of a client's packets end that client.
//
// Packets from warderd, each with the number of the jail:
//   {"order": "open", "jail", "egress": as in a policy, "secrets": ["", "Bearer ..."]}, with the listener
//   {"order": "close", "jail"}            answered by "closed"
//   {"order": "decide", "question", "allow": true}
// Packets to it:
//   {"event": "request" | "ask", "jail", "method", "host", "port", "path", "verdict", "rule", "cause", "address"};
//       "ask" has a "question"
//   {"event": "closed", "jail", "requests", "denied", "bytes_up", "bytes_down"}
#pragma once
#include <memory>

#include "supervisor/egress/jail_proxy.h"

namespace egress {

class EgressService {
 public:
  // `socket`: listening, SOCK_SEQPACKET, non-blocking.
  static Result<std::unique_ptr<EgressService>> open(Loop& loop, Fd socket, EgressNetwork network);
  EgressService(const EgressService&) = delete;
  EgressService& operator=(const EgressService&) = delete;

 private:
  EgressService(Loop& loop, AsyncFd socket, EgressNetwork network);
  Task<> accept_all();
  Task<> serve(AsyncFd client);

  Loop& loop_;
  AsyncFd socket_;
  const EgressNetwork network_;
  Scope clients_, accepting_;  // last: cancelled first
};

}  // namespace egress
