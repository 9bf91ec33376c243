// EgressConnection: one connection from code in a jail to the proxy. A tunnel takes it over; plain requests come one
// after another, and each is judged for itself.
// Source: hostile bytes, read by http::RequestParser. Used by: JailProxy.
#pragma once
#include <string>

#include "supervisor/egress/forward.h"
#include "supervisor/egress/jail_proxy.h"
#include "supervisor/protocol/http/request_parser.h"

namespace egress {

// EgressRefusal: why a request is refused, for the client.
struct EgressRefusal {
  int status = 0;  // of HTTP
  Error error;
};

class EgressConnection {
 public:
  EgressConnection(Loop& loop, const EgressNetwork& network, const JailSettings& settings, JailProxy::Host& host,
                   AsyncFd client, ByteBudget& up, ByteBudget& down, EgressCounts& counts);
  EgressConnection(const EgressConnection&) = delete;
  EgressConnection& operator=(const EgressConnection&) = delete;

  // Serves the client until it leaves, or one of its requests is refused.
  Task<> serve();

 private:
  enum class Got { head, full, end };

  Task<Got> receive(http::RequestParser& parser, bool text);
  Task<bool> serve_client(http::RequestParser& parser);
  Task<tl::expected<policies::EgressTarget, EgressRefusal>> read_request(const http::RequestParser& parser);
  Task<Result<AdmittedTarget>> judge(policies::EgressTarget target);
  Task<Result<>> admit(AdmittedTarget& to);
  Task<bool> serve_plain(AdmittedTarget to, http::RequestParser& parser);
  Task<bool> receive_body(http::RequestParser& parser);
  Task<> tunnel(AdmittedTarget to, std::string_view early);
  Task<Result<std::string>> read_hello(const std::string& host, std::string_view early);
  Task<> refuse(int status, const Error& error);
  Task<> report_refusal(const http::IncomingRequest& request, std::string why);
  EgressEntry entry_of(const AdmittedTarget& to, std::string verdict) const;

  Loop& loop_;
  const EgressNetwork& network_;
  const JailSettings& settings_;
  JailProxy::Host& host_;
  AsyncFd client_;
  ByteBudget &up_, &down_;
  EgressCounts& counts_;
  RequestForwarder forwarder_;
  std::string unread_;  // bytes after the end of a request
};

// The target of a request to a proxy: "CONNECT host:port", or "GET http://host/path". Errors: invalid.
Result<policies::EgressTarget> read_target(const http::IncomingRequest& request);

}  // namespace egress
