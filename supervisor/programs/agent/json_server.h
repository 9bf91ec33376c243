// JsonServer: a small HTTP server whose requests and answers are JSON. A connection has one request and one answer.
// Connections, the bytes of a request and the time of a client to send it are bounded; errors of clients are answered
// with a status, and are not logged.
// Source: untrusted bytes, read by http::RequestParser. Used by: TaskServer.
// Errors of open(): those of watching the socket.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "supervisor/base/fd.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/loop.h"
#include "supervisor/base/result.h"
#include "supervisor/protocol/http/request_parser.h"

namespace agent {

struct JsonReply {
  int status = 200;
  Json body;
  std::string headers;  // further fields, each with its \r\n
};
JsonReply json_refusal(int status, const std::string& why, std::string headers = {});

class JsonServer {
 public:
  class Host {
   public:
    virtual ~Host() = default;
    // The head of a request was read, the body was not. A reply refuses the request.
    virtual std::optional<JsonReply> check(const http::IncomingRequest& head) = 0;
    // Destroying the task, because the client left, ends the request.
    virtual Task<JsonReply> respond(http::IncomingRequest request) = 0;
  };
  // `socket` is a listening, non-blocking socket. Loop and host must outlive the server.
  static Result<std::unique_ptr<JsonServer>> open(Loop& loop, Fd socket, Host& host, size_t max_connections);
  JsonServer(const JsonServer&) = delete;
  JsonServer& operator=(const JsonServer&) = delete;
  // Accepts no more clients. Requests that were read are answered.
  void stop();

 private:
  JsonServer(Loop& loop, AsyncFd socket, Host& host, size_t max_connections);
  Task<> accept_all();
  Task<> serve(AsyncFd client);
  enum class Received { request, refusal, end };
  Task<Received> receive(AsyncFd& client, http::RequestParser& parser, JsonReply& refusal);
  Task<> respond(http::IncomingRequest request, std::optional<JsonReply>& reply, Event& over);

  Loop& loop_;
  AsyncFd socket_;
  Host& host_;
  const size_t max_connections_;
  Scope clients_, accepting_;  // last: cancelled first
};

}  // namespace agent
