// Checks against web pages that reach this server through a browser: a page of another site must not send requests
// here, also not where its host name was pointed to this machine (DNS rebinding).
// Source: the fields Host and Origin of a request, as a browser sends them; a page cannot change them. Used by:
// HttpEndpoint (../streamable_http/), agent::TaskServer. No errors.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace http {

// Whether `host` names this server: a loopback address or "localhost", the address of the listening socket, or a name
// in `hosts`, with or without a port.
bool is_own_host(std::string_view host, std::string_view own_address, const std::vector<std::string>& hosts);

// Whether a page of `origin` may use this server: it was loaded from the host that the request names, where that is a
// loopback host or the own address; or it is in `origins`.
bool is_own_origin(std::string_view origin, std::string_view host, std::string_view own_address,
                   const std::vector<std::string>& origins);

}  // namespace http
