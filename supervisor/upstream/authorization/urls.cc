#include "supervisor/upstream/authorization/urls.h"

#include <algorithm>
#include <charconv>

#include "supervisor/base/ascii.h"
#include "supervisor/base/loopback.h"
#include "supervisor/protocol/http/client.h"

namespace oauth {
namespace {

constexpr size_t kMaxFields = 64;

void escape(std::string& to, std::string_view text) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_word(c) || c == '-' || c == '.' || c == '~') {
      to += c;
    } else {
      to += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
}

Result<std::string> unescaped(std::string_view text) {
  std::string all;
  for (size_t i = 0; i < text.size(); i++) {
    if (text[i] != '%') {
      all += text[i] == '+' ? ' ' : text[i];
      continue;
    }
    unsigned value = 0;
    const char* begin = text.data() + i + 1;
    if (text.size() - i < 3) return fail(Code::invalid, "the URL has a wrong %-escape");
    const auto [end, error] = std::from_chars(begin, begin + 2, value, 16);
    if (error != std::errc() || end != begin + 2) return fail(Code::invalid, "the URL has a wrong %-escape");
    all += static_cast<char>(value);
    i += 2;
  }
  return all;
}

}  // namespace

Result<> check_endpoint(std::string_view url, PlainHttp plain) {
  TRY(const auto position, http::parse_url(url));
  if (url.find('#') != url.npos) return fail(Code::invalid, "the URL has a fragment");
  if (position.secure) return {};
  const bool is_v6 = position.host.find(':') != std::string::npos;
  const std::string host = is_v6 ? "[" + position.host + "]" : lower_case(position.host);
  if (plain == PlainHttp::loopback && is_loopback_host(host)) return {};
  return fail(Code::invalid, "the URL is not https");
}

PlainHttp plain_for(std::string_view server_url) {
  return server_url.starts_with("http://") ? PlainHttp::loopback : PlainHttp::never;
}

std::string origin_of(std::string_view url) {
  const auto position = http::parse_url(url);
  if (!position) return {};
  const bool is_v6 = position->host.find(':') != std::string::npos;
  const std::string host = lower_case(position->host);
  return (position->secure ? "https://" : "http://") + (is_v6 ? "[" + host + "]" : host) + ":" + position->port;
}

std::string path_of_url(std::string_view url) {
  const size_t mark = url.find("://");
  const size_t begin = mark == url.npos ? url.npos : url.find('/', mark + 3);
  if (begin == url.npos || url.find_first_of("?#") < begin) return {};
  std::string path(url.substr(begin, url.find_first_of("?#") - begin));
  while (path.ends_with('/')) path.pop_back();
  return path;
}

bool is_resource_of(std::string_view resource, std::string_view url) {
  const std::string path = path_of_url(url), parent = path_of_url(resource);
  return origin_of(resource) == origin_of(url) && path.starts_with(parent) &&
         (path.size() == parent.size() || path[parent.size()] == '/');
}

Result<> check_redirect(std::string_view url) {
  CHECKED(check_endpoint(url, PlainHttp::loopback));
  if (!url.starts_with("http://") || url.find('?') != url.npos)
    return fail(Code::invalid, "the redirect is not a URL like http://127.0.0.1:PORT/PATH");
  return {};
}

// The origin of a URL as it was written, not in lower case: "https://host:443" for "https://host:443/a".
static std::string_view written_origin(std::string_view url) {
  return url.substr(0, url.find_first_of("/?#", url.find("://") + 3));
}

std::vector<std::string> resource_metadata_places(std::string_view server_url) {
  const std::string begin = std::string(written_origin(server_url)) + "/.well-known/oauth-protected-resource";
  const std::string path = path_of_url(server_url);
  if (path.empty()) return {begin};
  return {begin + path, begin};
}

std::vector<std::string> issuer_metadata_places(std::string_view issuer) {
  const std::string origin(written_origin(issuer)), path = path_of_url(issuer);
  std::vector<std::string> positions = {origin + "/.well-known/oauth-authorization-server" + path,
                                        origin + "/.well-known/openid-configuration" + path};
  if (!path.empty()) positions.push_back(origin + path + "/.well-known/openid-configuration");
  return positions;
}

std::string write_form(const FormFields& fields) {
  std::string all;
  for (const auto& [name, value] : fields) {
    if (!all.empty()) all += '&';
    escape(all, name);
    all += '=';
    escape(all, value);
  }
  return all;
}

std::string with_query(std::string_view url, const FormFields& fields) {
  return std::string(url) + (url.find('?') == url.npos ? '?' : '&') + write_form(fields);
}

Result<std::map<std::string, std::string>> read_query(std::string_view url) {
  std::map<std::string, std::string> all;
  const size_t mark = url.find('?');
  if (mark == url.npos) return all;
  std::string_view query = url.substr(mark + 1);
  query = query.substr(0, query.find('#'));
  while (!query.empty()) {
    const std::string_view field = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(field.size() + 1, query.size()));
    if (field.empty()) continue;
    const size_t equals = std::min(field.find('='), field.size());
    TRY(std::string name, unescaped(field.substr(0, equals)));
    TRY(std::string value, unescaped(field.substr(std::min(equals + 1, field.size()))));
    if (all.size() >= kMaxFields) return fail(Code::invalid, "the URL has too many parameters");
    if (!all.emplace(std::move(name), std::move(value)).second)
      return fail(Code::invalid, "the URL has a parameter twice");
  }
  return all;
}

}  // namespace oauth
