// Cross-origin requests (CORS, the Fetch standard): what a browser must be told before a page of another origin may
// send requests here and read the answers. Which origins may is decided before (http/web_origin.h). Credentials come in
// the field Authorization, never in cookies, so no Access-Control-Allow-Credentials is sent. Used by: HttpEndpoint. No
// errors.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "supervisor/protocol/http/request_parser.h"
#include "supervisor/protocol/streamable_http/reply.h"

namespace streamable_http {

// The fields of each answer to a page of `origin`, which may use this server; each with its \r\n.
std::string cross_origin_fields(std::string_view origin);
// The answer to a browser that asks, before a request, whether it may send it (a preflight). It needs no token: a
// browser sends none with it. nullopt: `head` is no preflight.
std::optional<HttpAnswer> preflight_answer(const http::IncomingRequest& head);

}  // namespace streamable_http
