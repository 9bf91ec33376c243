// Mirrored: an argument of a tool call that a server over HTTP also wants as a header. The tool's input schema marks it
// with "x-mcp-header" (specification 2026-07-28, basic/transports/streamable-http).
// Source: tools/list of the server, which is not trusted. Used by: definitions.cc, upstream_servers.cc.
// Errors: invalid: the tool must not be offered.
#pragma once
#include <string>
#include <vector>

#include "supervisor/base/json/json_value.h"
#include "supervisor/base/result.h"
#include "supervisor/upstream/transport.h"

namespace upstream {

struct Mirrored {
  std::string header;             // "Mcp-Param-Region"
  std::vector<std::string> path;  // names from the arguments object to the value
};

Result<std::vector<Mirrored>> read_mirrored(const Json& schema);
Transport::Headers mirror(const std::vector<Mirrored>& all, const Json& arguments);

}  // namespace upstream
