// The headers of a request of 2026-07-28, which repeat parts of its body for proxies: MCP-Protocol-Version, Mcp-Method,
// Mcp-Name, and Mcp-Param-* for arguments whose schema has "x-mcp-header". A request whose headers and body differ is
// refused: a proxy that read the headers would have decided about another request.
// Source: specification 2026-07-28, basic/transports/streamable-http. Used by: PostResponder. No errors.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "supervisor/base/json/json_fwd.h"
#include "supervisor/protocol/http/request_parser.h"
#include "supervisor/protocol/mcp/server.h"

namespace streamable_http {

// Whether the request is of 2026-07-28 or later: by its _meta, or else by the version in its headers.
bool is_modern(const http::IncomingRequest& request, const Json& message);

// The name of the first header that does not agree with `message`, which is an object; nullopt: all agree.
std::optional<std::string> find_mismatch(const http::IncomingRequest& request, const Json& message,
                                         const mcp::Server& server);

// The text of a header value: "=?base64?...?=" is decoded. nullopt: the encoding is broken.
std::optional<std::string> decode_header(std::string_view value);

// Whether the client takes this type of answer ("text/event-stream"), by its Accept headers. Without any it takes all.
bool accepts(const http::IncomingRequest& request, std::string_view type);

}  // namespace streamable_http
