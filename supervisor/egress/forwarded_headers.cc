#include "supervisor/egress/forwarded_headers.h"

#include <algorithm>

#include "supervisor/base/ascii.h"
#include "supervisor/egress/secret_filter.h"

namespace egress {
namespace {

constexpr std::string_view kOfConnection[] = {"connection",
                                              "keep-alive",
                                              "proxy-connection",
                                              "proxy-authorization",
                                              "proxy-authenticate",
                                              "te",
                                              "trailer",
                                              "transfer-encoding",
                                              "upgrade",
                                              "expect"};

// The names in the Connection headers: they are of this connection, too.
std::vector<std::string> named_by_connection(const http::Headers& fields) {
  std::vector<std::string> names;
  for (const auto& [name, value] : fields) {
    if (name != "connection") continue;
    std::string word;
    for (const char c : value + ",") {
      if (c == ',' || c == ' ' || c == '\t') {
        if (!word.empty()) names.push_back(lower_case(std::exchange(word, {})));
      } else {
        word += c;
      }
    }
  }
  return names;
}

bool is_of_connection(const std::string& name, const std::vector<std::string>& named) {
  return std::find(std::begin(kOfConnection), std::end(kOfConnection), name) != std::end(kOfConnection) ||
         std::find(named.begin(), named.end(), name) != named.end();
}

}  // namespace

http::Headers forwarded_headers(const http::Headers& fields, std::string_view secret_header) {
  const auto named = named_by_connection(fields);
  const std::string secret = lower_case(secret_header);
  http::Headers headers;
  for (const auto& [name, value] : fields) {
    if (is_of_connection(name, named) || name == "host" || name == "content-length") continue;
    if (!secret.empty() && (name == secret || name == "accept-encoding" || name == "range")) continue;
    headers.emplace_back(name, value);
  }
  return headers;
}

void drop_overrides(http::Headers& headers) {
  constexpr std::string_view kOverrides[] = {"x-http-method-override", "x-http-method", "x-method-override",
                                             "x-original-url", "x-rewrite-url"};
  // CGI and its kind (RFC 3875, 4.1.18) read '-' and '_' in the name of a header as the same character.
  std::erase_if(headers, [&](const auto& item) {
    std::string name = item.first;
    std::replace(name.begin(), name.end(), '_', '-');
    return std::find(std::begin(kOverrides), std::end(kOverrides), name) != std::end(kOverrides);
  });
}

std::string returned_headers(const http::Headers& headers, const SecretFilter* filter, bool has_body) {
  const auto named = named_by_connection(headers);
  std::string text;
  for (const auto& [name, value] : headers) {
    if (is_of_connection(name, named) || (has_body && name == "content-length")) continue;
    if (!http::check_header(name, value)) continue;  // a client could read it as two
    text += name + ": " + (filter ? filter->hide(value) : value) + "\r\n";
  }
  return text;
}

}  // namespace egress
