// The URLs of OAuth: which ones the daemon uses at all, the well-known places of metadata, and queries.
// Source: metadata and redirects, which are not trusted. Used by: this folder. Errors: invalid, naming the problem.
// Facts: RFC 8414 section 3.1, RFC 9728 section 3.1, OpenID Connect Discovery 1.0 section 4, RFC 8252 section 7.3;
// application/x-www-form-urlencoded, WHATWG URL.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "supervisor/base/result.h"

namespace oauth {

// loopback: http is allowed to 127.0.0.0/8, ::1 and localhost. never: only https.
enum class PlainHttp { never, loopback };
// An endpoint is https, or what `plain` allows; it has neither user nor fragment.
Result<> check_endpoint(std::string_view url, PlainHttp plain);
// What a server may name: http only if the server itself is reached by http.
PlainHttp plain_for(std::string_view server_url);
// "https://host:port", in lower case, with the port. `url` was checked.
std::string origin_of(std::string_view url);
// "/mcp", without the query; "/" is empty, and so is the '/' at the end.
std::string path_of_url(std::string_view url);
// Whether a token for `resource` (RFC 8707) is for `url`: the same URL, or one below it at the same origin.
bool is_resource_of(std::string_view resource, std::string_view url);
// A client's redirect: http to a loopback address with a port. RFC 8252.
Result<> check_redirect(std::string_view url);

// Where the metadata of a resource may be, and of an authorization server; the first that exists counts.
std::vector<std::string> resource_metadata_places(std::string_view server_url);
std::vector<std::string> issuer_metadata_places(std::string_view issuer);

using FormFields = std::vector<std::pair<std::string, std::string>>;
std::string write_form(const FormFields& fields);
// `url` with these fields added to its query.
std::string with_query(std::string_view url, const FormFields& fields);
// The query of a URL. Errors: a name that comes twice, wrong escapes, more than 64 fields.
Result<std::map<std::string, std::string>> read_query(std::string_view url);

}  // namespace oauth
