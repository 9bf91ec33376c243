// What of a call's arguments a server over HTTP wants to see as headers, too: "x-mcp-header" in a tool's input schema
// (specification 2026-07-28, basic/transports/streamable-http).
// Source: tools/list, the server's word. Errors: invalid: such a tool is not to be called.
#pragma once
#include <string>
#include <vector>

#include "supervisor/base/json_value.h"
#include "supervisor/base/result.h"
#include "supervisor/upstream/transport.h"

namespace upstream {

struct Mirrored {
  std::string header;             // "Mcp-Param-Region"
  std::vector<std::string> path;  // in the arguments
};

Result<std::vector<Mirrored>> read_mirrored(const Json& schema);
Transport::Headers mirror(const std::vector<Mirrored>& all, const Json& arguments);

}  // namespace upstream
