// EgressConnection: one connection from code in a jail to the proxy. A tunnel takes it over; plain requests come one
// after another, and each is judged for itself.
// Source: hostile bytes, read by http::RequestParser. Used by: JailProxy.
#pragma once
#include <optional>
#include <string>

#include "supervisor/egress/jail_proxy.h"
#include "supervisor/http/client.h"
#include "supervisor/http/request_parser.h"

namespace egress {

class SecretFilter;

class EgressConnection {
 public:
  EgressConnection(Loop& loop, const EgressNetwork& network, const JailSettings& settings, JailProxy::Host& host,
                   AsyncFd client, ByteBudget& up, ByteBudget& down, EgressCounts& counts);
  EgressConnection(const EgressConnection&) = delete;
  EgressConnection& operator=(const EgressConnection&) = delete;

  // Serves the client until it leaves, or one of its requests is refused.
  Task<> serve();

 private:
  // What a request becomes after all checks.
  struct Way {
    policies::EgressTarget target;
    policies::EgressDecision decision;
    std::vector<std::string> addresses;  // checked
  };
  enum class Got { head, whole, end };

  Task<Got> receive(http::RequestParser& parser, bool whole);
  Task<bool> serve_one(http::RequestParser& parser);
  Task<Result<Way>> judge(policies::EgressTarget target);
  Task<Result<>> admit(Way& way);
  Task<> tunnel(Way way, std::string_view early);
  Task<Result<std::string>> read_hello(const std::string& host, std::string_view early);
  Task<bool> forward(Way way, http::IncomingRequest request);
  Task<bool> pass_body(http::Exchange& exchange, SecretFilter* filter, bool is_chunked);
  Task<bool> send_down(std::string_view bytes);
  Task<> refuse(int status, const Error& error);
  Task<> report_refusal(const http::IncomingRequest& request, std::string why);
  EgressEntry entry_of(const Way& way, std::string verdict) const;

  Loop& loop_;
  const EgressNetwork& network_;
  const JailSettings& settings_;
  JailProxy::Host& host_;
  AsyncFd client_;
  ByteBudget &up_, &down_;
  EgressCounts& counts_;
  std::string unread_;                       // bytes after the end of a request
  std::unique_ptr<http::HttpClient> https_;  // made for the first plain request to a host
  std::string last_place_;                   // that host and its port
};

// The target of a request to a proxy: "CONNECT host:port", or "GET http://host/path". Errors: invalid.
Result<policies::EgressTarget> read_target(const http::IncomingRequest& request);

}  // namespace egress
