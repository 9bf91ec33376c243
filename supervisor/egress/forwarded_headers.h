// Headers that the proxy passes on, in both directions. Those that belong to one connection (RFC 9110, section 7.6.1),
// or decide how a message is read, are written by the proxy. Source: hostile code in a jail; hosts. Used by:
// EgressConnection. No errors.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "supervisor/protocol/http/client.h"

namespace egress {

class SecretFilter;

// Headers of a request. `secret_header`: the proxy writes this one, and the answer must be neither compressed nor a
// part of a body, so that the secret can be hidden in it; empty: the rule has no secret.
http::Headers forwarded_headers(const http::Headers& fields, std::string_view secret_header);

// Removes headers by which a request asks for another method or path than its own (X-HTTP-Method-Override).
void drop_overrides(http::Headers& headers);

// Headers of an answer as text, each with its line end. `filter`: hides a secret; may be nullptr. `has_body`: without
// one the length stays, because it is the length of the answer to a GET.
std::string returned_headers(const http::Headers& headers, const SecretFilter* filter, bool has_body);

}  // namespace egress
