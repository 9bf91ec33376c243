// RequestForwarder: passes plain requests (http://) of one connection on to their hosts, and the answers back. With a
// rule's `tls` the host is reached over TLS; a rule's secret is added to the request and hidden in the answer.
// Redirects are not followed. Source: requests of hostile code, already judged; answers of hosts, which are not
// trusted. Used by: EgressConnection.
#pragma once
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "supervisor/egress/jail_proxy.h"
#include "supervisor/protocol/http/client.h"
#include "supervisor/protocol/http/request_parser.h"

namespace egress {

class SecretFilter;

constexpr auto kConnectTime = std::chrono::seconds(10);  // to find a host's address, and again to connect

// What a request becomes after all checks.
struct AdmittedTarget {
  policies::EgressTarget target;
  policies::EgressDecision decision;
  std::vector<std::string> addresses;  // checked
};

class RequestForwarder {
 public:
  // References must outlive the object. `client`: gets the answers. `down`: counts their bytes.
  RequestForwarder(Loop& loop, const EgressNetwork& network, const JailSettings& settings, AsyncFd& client,
                   ByteBudget& down);

  // Sends the request and passes the answer on. False: the client's connection must end: it asked for that, or the
  // answer broke off. Errors: no byte of an answer was sent to the client, without the secret: unavailable: the host
  // cannot be reached, or its answer is compressed, so that no secret can be hidden in it.
  Task<Result<bool>> forward(AdmittedTarget to, http::IncomingRequest request);

 private:
  Result<> connect_to(const AdmittedTarget& to);
  http::ClientRequest make_request(const AdmittedTarget& to, http::IncomingRequest& request,
                                   const std::string& secret) const;
  Task<bool> pass_body(http::Exchange& exchange, SecretFilter* filter, bool is_chunked);

  Loop& loop_;
  const EgressNetwork& network_;
  const JailSettings& settings_;
  AsyncFd& client_;
  ByteBudget& down_;
  std::unique_ptr<http::HttpClient> host_;  // one open connection, to the host of the last request
  std::string host_port_;                   // that host and its port
};

}  // namespace egress
