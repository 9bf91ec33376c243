#include "supervisor/programs/cli/dashboard/site.h"

#include <algorithm>

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_text.h"
#include "supervisor/base/loopback.h"
#include "supervisor/programs/cli/dashboard/page.h"

namespace admin {
namespace {

// The browser loads and asks only this server, makes no markup of text, stores no copy, and lets no other page frame
// this page.
constexpr char kHeaders[] =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n"
    "Cross-Origin-Opener-Policy: same-origin\r\n"
    "Cache-Control: no-store\r\n";

http::Response page(std::string_view type, std::string_view body) {
  return {"200 OK", std::string(type), std::string(body), kHeaders};
}

http::Response json_response(const DashboardAnswer& answer) {
  return {answer.status, "application/json", dump_json_ascii(answer.json), kHeaders};
}

// Compares in constant time, so that the time does not show how many characters of the key were right.
bool same(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned char different = 0;
  for (size_t i = 0; i < a.size(); i++) different |= static_cast<unsigned char>(a[i] ^ b[i]);
  return different == 0;
}

bool names_this_server(const http::HttpRequest& request, const SiteAddress& address) {
  if (!address.host.empty()) return request.host == address.host;
  return request.host.empty() || is_loopback_host(request.host);
}

// Whether the request comes from this page, or from a program and not from a browser. A browser names the origin of
// every POST.
bool is_own_origin(const http::HttpRequest& request) {
  constexpr std::string_view kScheme = "http://";
  return request.origin.size() == kScheme.size() + request.host.size() && request.origin.starts_with(kScheme) &&
         request.origin.ends_with(request.host);
}

// The rest of the path behind the key; absent: this request gets a 404.
std::optional<std::string_view> path_behind_key(const http::HttpRequest& request, const SiteAddress& address) {
  if (!names_this_server(request, address)) return std::nullopt;
  if (!request.origin.empty() && !is_own_origin(request)) return std::nullopt;
  std::string_view path = request.path;
  if (!path.starts_with('/')) return std::nullopt;
  path.remove_prefix(1);
  const size_t end = path.find('/');
  if (end == path.npos || !same(path.substr(0, end), address.key)) return std::nullopt;
  return path.substr(end + 1);
}

Task<http::Response> answer_site(DashboardRequests& requests, const SiteAddress& address, http::HttpRequest request) {
  const auto empty = http::refusal("404 Not Found", "open the address that warder dashboard printed");
  const auto path = path_behind_key(request, address);
  if (!path) co_return empty;
  if (request.method == "POST") {
    if (*path != "act") co_return http::refusal("405 Method Not Allowed", "use the method GET", "Allow: GET, HEAD\r\n");
    if (!is_own_origin(request) || request.content_type != "application/json")
      co_return http::refusal("403 Forbidden", "actions are JSON from the dashboard's own page");
    Task<DashboardAnswer> acting = requests.act(std::string(request.body));
    const DashboardAnswer acted = co_await std::move(acting);
    co_return json_response(acted);
  }
  for (const PageFile& file : kPageFiles)
    if (*path == file.name) co_return page(file.type, file.text);
  Task<DashboardAnswer> reading = requests.read(std::string(*path), std::string(request.query));
  const DashboardAnswer answer = co_await std::move(reading);
  if (answer.status.empty()) co_return empty;
  co_return json_response(answer);
}

}  // namespace

http::TaskHandler site(DashboardRequests& requests, SiteAddress address) {
  return [&requests, address = std::move(address)](http::HttpRequest request) {
    return answer_site(requests, address, request);
  };
}

}  // namespace admin
