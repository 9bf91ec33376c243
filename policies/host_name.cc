#include "policies/host_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "supervisor/base/ascii.h"
#include "supervisor/base/log.h"

namespace policies {
namespace {

constexpr size_t kMaxHostBytes = 253, kMaxLabelBytes = 63;  // RFC 1035, section 2.3.4
constexpr size_t kShownBytes = 80;

bool is_label(std::string_view label) {
  if (label.empty() || label.size() > kMaxLabelBytes || label.front() == '-' || label.back() == '-') return false;
  return std::all_of(label.begin(), label.end(), [](char c) { return is_lower_or_digit(c) || c == '-' || c == '_'; });
}

// A last label that an address can have: then getaddrinfo(3) may read the whole name as one (inet_aton(3)).
bool ends_in_number(std::string_view label) {
  if (std::all_of(label.begin(), label.end(), is_digit)) return true;
  return label.starts_with("0x") && label.find_first_not_of("0123456789abcdef", 2) == label.npos;
}

auto refused(std::string_view text, std::string_view why) {
  return fail(Code::invalid, fmt::format("the host '{}' {}", printable(text, kShownBytes), why),
              "write a full host name in ASCII, for example api.example.com");
}

}  // namespace

Result<std::string> parse_host_name(std::string_view text) {
  if (text.size() > kMaxHostBytes) return refused(text, "is longer than 253 bytes");
  std::string host(text);
  for (char& c : host) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= ' ' || byte == 0x7f) return refused(text, "has a space or a control character");
    if (byte > 0x7f) return refused(text, "has characters other than ASCII; its xn-- form is taken");
    if (std::string_view("@%/\\?#[]:").find(c) != std::string_view::npos)
      return refused(text, "has a user, a zone, a path or an address in brackets");
    c = lower_case(c);
  }
  size_t labels = 0;
  std::string_view rest = host, last;
  for (bool more = true; more; labels++) {
    const size_t dot = rest.find('.');
    last = rest.substr(0, dot);
    if (!is_label(last)) return refused(text, "is not a host name");
    more = dot != rest.npos;
    if (more) rest.remove_prefix(dot + 1);
  }
  if (ends_in_number(last)) return refused(text, "is an address");
  if (labels < 2) return refused(text, "is not a full name");
  return host;
}

Result<HostPort> parse_host_port(std::string_view text, bool needs_port) {
  const size_t colon = text.rfind(':');
  HostPort host_port;
  if (colon == text.npos) {
    if (needs_port)
      return fail(Code::invalid, "the port is missing", "write HOST:PORT, for example api.example.com:443");
  } else {
    const std::string_view digits = text.substr(colon + 1);
    const bool is_number = !digits.empty() && digits.size() <= 5 && digits.front() != '0' &&
                           std::all_of(digits.begin(), digits.end(), is_digit);
    uint32_t port = 0;
    if (is_number) std::from_chars(digits.data(), digits.data() + digits.size(), port);
    if (port == 0 || port > UINT16_MAX)
      return fail(Code::invalid, fmt::format("the port '{}' is not a number from 1 to 65535", printable(digits, 16)));
    host_port.port = static_cast<uint16_t>(port);
    text = text.substr(0, colon);
  }
  TRY(host_port.host, parse_host_name(text));
  return host_port;
}

Result<std::string> parse_host_pattern(std::string_view text) {
  if (!text.starts_with("*.")) return parse_host_name(text);
  TRY(const std::string below, parse_host_name(text.substr(2)));
  return "*." + below;
}

bool matches_host(std::string_view pattern, std::string_view host) {
  if (!pattern.starts_with("*.")) return host == pattern;
  return host.size() > pattern.size() - 1 && host.ends_with(pattern.substr(1));
}

}  // namespace policies
