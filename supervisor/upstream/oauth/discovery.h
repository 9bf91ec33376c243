// Discovery: finds the authorization server of an upstream server, and what to ask it for.
// Steps: the server's challenge (a request without a token), its metadata (RFC 9728), the metadata of the authorization
// server (RFC 8414, OpenID Connect Discovery). With a configured issuer the server's own metadata says only the
// resource. A server without metadata of its own is taken for its own authorization server, as in MCP 2025-03-26.
// Source: both servers, which are not trusted: documents are bounded in bytes and time, redirects are not followed.
// Used by: token_source.cc, login.cc. Errors: denied, unavailable, naming the URL and why.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "supervisor/base/task.h"
#include "supervisor/protocol/http/client.h"
#include "supervisor/upstream/authorization/login_service.h"
#include "supervisor/upstream/oauth/metadata.h"

namespace oauth {

struct Discovered {
  AuthorizationServer server;
  std::string resource;  // RFC 8707
  // To ask for: those of the settings; else those of the challenge, or of the metadata, with offline_access if the
  // authorization server lists it, and without it if its list lacks it.
  std::vector<std::string> scopes;
};

// A request of this folder: its limits, and no more headers than given.
http::ClientRequest request_to(const TokenTarget& target, std::string url);
// The client must outlive the task.
Task<Result<Discovered>> discover(http::HttpClient& client, const TokenTarget& target);

}  // namespace oauth
