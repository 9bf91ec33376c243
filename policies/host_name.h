// Host names of egress rules and of requests from jails: one written form is taken, so that the same name is
// matched, resolved and dialled.
// Source: policies, and hostile code in jails. Used by: egress_rules.cc, supervisor/egress.
// Errors: invalid, naming the cause.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "supervisor/base/result.h"

namespace policies {

// Checks a full host name and returns it in lower case: "api.example.com". At most 253 bytes; labels of letters,
// digits,
// "-" and "_". Refused: an address in any form that getaddrinfo(3) takes (127.0.0.1, 127.1, 0x7f.1, 2130706433, [::1]),
// a name without a dot, a dot at the end, other characters than ASCII (the xn-- form is taken), a user, a zone.
Result<std::string> parse_host_name(std::string_view text);

struct HostPort {
  std::string host;
  uint16_t port = 0;  // 0: the text has no port
};
// "HOST:PORT", as a CONNECT request has it, or "HOST" where `needs_port` is false. The port has no sign and no leading
// zero.
Result<HostPort> parse_host_port(std::string_view text, bool needs_port);

// A host name, or "*." before one: any name below it, at any depth. Returns it in lower case.
Result<std::string> parse_host_pattern(std::string_view text);
// `host` and `pattern` as the functions above return them.
bool matches_host(std::string_view pattern, std::string_view host);

}  // namespace policies
