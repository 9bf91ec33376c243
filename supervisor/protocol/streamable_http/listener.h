// HttpListener: accepts the clients of one listening TCP socket for an HttpEndpoint.
// Source of the socket: inherited (systemd, LISTEN_FDS) or made by the daemon. Used by: supervisor/daemon, tests.
// Errors: invalid, `socket` is not a listening TCP socket. A failed accept() is tried again after a pause.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "supervisor/base/fd.h"
#include "supervisor/base/loop.h"
#include "supervisor/base/result.h"
#include "supervisor/protocol/streamable_http/authenticator.h"
#include "supervisor/protocol/streamable_http/endpoint.h"

namespace streamable_http {

class HttpListener {
 public:
  // Loop and endpoint must outlive the listener.
  static Result<std::unique_ptr<HttpListener>> open(Loop& loop, HttpEndpoint& endpoint, Fd socket,
                                                    std::shared_ptr<const Authenticator> authenticator);
  HttpListener(const HttpListener&) = delete;
  HttpListener& operator=(const HttpListener&) = delete;
  // Accepts no more clients and closes the listening socket.
  void stop();
  const std::string& address() const { return address_; }  // "127.0.0.1:9470"

 private:
  HttpListener(Loop& loop, HttpEndpoint& endpoint, AsyncFd socket, std::shared_ptr<const Authenticator> authenticator);
  Task<> accept_all();
  enum class Accept { one, none_waits, failed };
  Accept accept_client();

  Loop& loop_;
  HttpEndpoint& endpoint_;
  AsyncFd socket_;
  std::shared_ptr<const Authenticator> authenticator_;
  const std::string address_;
  std::optional<Task<>> accepting_;
};

}  // namespace streamable_http
