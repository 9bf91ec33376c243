// Authenticator: decides which principal makes a request. Every request over HTTP passes it, before its body is read.
// Implementations: PeerAuthenticator on a Unix socket, TokenlessAuthenticator on TCP where no tokens are configured.
// Used by: HttpEndpoint. Errors: denied: the answer is 401, and the connection ends.
#pragma once
#include <utility>

#include "supervisor/base/result.h"
#include "supervisor/http/request_parser.h"
#include "supervisor/mcp/principal.h"

namespace streamable_http {

class Authenticator {
 public:
  virtual ~Authenticator() = default;
  // `request`: its head; the body is still to come. What fails to authenticate must not be told apart by the client.
  virtual Result<mcp::Principal> authenticate(const http::IncomingRequest& request) const = 0;
};

// The kernel named the process at the other end of the socket. No header changes who that is.
class PeerAuthenticator : public Authenticator {
 public:
  explicit PeerAuthenticator(mcp::Principal peer) : peer_(std::move(peer)) {}
  Result<mcp::Principal> authenticate(const http::IncomingRequest&) const override { return peer_; }

 private:
  mcp::Principal peer_;
};

// Any user of the machine, and any web page in a browser, can reach a TCP port: without tokens nobody is let in.
class TokenlessAuthenticator : public Authenticator {
 public:
  Result<mcp::Principal> authenticate(const http::IncomingRequest&) const override {
    return fail(Code::denied, "a request over TCP needs a token, and this server has no tokens",
                "connect to the Unix socket, /run/warder/mcp.sock, which takes HTTP, too");
  }
};

}  // namespace streamable_http
