#include "supervisor/cli/dashboard/site.h"

#include <charconv>

#include "supervisor/cli/dashboard/page.h"

namespace admin {
namespace {

// The browser loads and asks only this server, stores no copy, and lets no other page frame this page.
constexpr char kHeaders[] =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n"
    "Cache-Control: no-store\r\n";

http::Response page(std::string_view type, std::string_view body) {
  return {"200 OK", std::string(type), std::string(body), kHeaders};
}

// Compares in constant time, so that the time does not show how many characters of the key were right.
bool same(std::string_view one, std::string_view other) {
  if (one.size() != other.size()) return false;
  unsigned char different = 0;
  for (size_t i = 0; i < one.size(); i++) different |= static_cast<unsigned char>(one[i] ^ other[i]);
  return different == 0;
}

uint64_t since_of(std::string_view query) {
  constexpr std::string_view kSince = "since=";
  uint64_t since = 0;
  if (query.starts_with(kSince)) std::from_chars(query.data() + kSince.size(), query.data() + query.size(), since);
  return since;
}

}  // namespace

http::Handler site(const Watch& watch, SiteAddress address) {
  return [&watch, address = std::move(address)](const http::HttpRequest& asked) -> http::Response {
    const auto nothing = http::refusal("404 Not Found", "open the address that warder dashboard printed");
    if (!address.host.empty() && asked.host != address.host) return nothing;
    std::string_view path = asked.path;
    if (!path.starts_with('/')) return nothing;
    path.remove_prefix(1);
    if (!address.key.empty()) {
      if (!same(path.substr(0, path.find('/')), address.key) || path.size() == address.key.size()) return nothing;
      path.remove_prefix(address.key.size() + 1);
    }
    if (path.empty()) return page("text/html; charset=utf-8", kPageHtml);
    if (path == "page.css") return page("text/css; charset=utf-8", kPageCss);
    if (path == "page.js") return page("text/javascript; charset=utf-8", kPageJs);
    if (path == "state.json") return page("application/json", watch.state(since_of(asked.query)));
    return nothing;
  };
}

}  // namespace admin
