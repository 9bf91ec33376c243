// Challenge: what a server says in `WWW-Authenticate` about the token that it wants.
// Source: replies with status 401 or 403 of servers, which are not trusted: at most 8 KiB are read.
// Used by: discovery.cc, upstream/http_transport.cc. Facts: RFC 9110 section 11.6.1, RFC 6750 section 3, RFC 9728
// section 5.1. No errors: an unknown header is no challenge.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/protocol/http/client.h"

namespace oauth {

struct Challenge {
  std::string resource_metadata;    // a URL, not checked; empty: not named
  std::vector<std::string> scopes;  // valid ones, 64 at most
  std::string error;                // "invalid_token", "insufficient_scope"; empty: absent
};

// The challenge of the scheme Bearer; nullopt: absent.
std::optional<Challenge> bearer_challenge(const http::ReplyHead& head);
// The scopes of a list with blanks. Others than valid ones are left out.
std::vector<std::string> split_scopes(std::string_view text);
std::string join_scopes(const std::vector<std::string>& scopes);

}  // namespace oauth
