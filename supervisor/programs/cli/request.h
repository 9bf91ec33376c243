// Requests to warderd's socket, one on each connection, in MCP 2026-07-28: no handshake. The caller waits; SIGINT and
// SIGTERM cancel the request. Used by: run.cc, skills/, workflows/.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "supervisor/base/json/json_fwd.h"
#include "supervisor/base/result.h"
#include "supervisor/programs/cli/socket.h"

namespace cli {

// A request as one line.
std::string request_text(const char* method, Json params, int64_t id);
// The whole message that answers it; nullopt: a signal came, and the daemon was told. There is no time limit here: the
// daemon limits the time of every execution. Errors: unavailable, no daemon, or it closed the connection; internal, the
// answer is no message.
Result<std::optional<Json>> ask_daemon(const SocketPath& socket, const std::string& request, int64_t id);
// The result of the only request of a connection; nullopt: a signal came. Errors: those of ask_daemon(); not_found: the
// resource does not exist; invalid: a parameter is wrong; unavailable: any other error of the protocol; in the daemon's
// words.
Result<std::optional<Json>> result_of(const SocketPath& socket, const char* method, Json params);
// The first text block of a tool's result: the tools of warderd write their answers there, as JSON.
std::string text_of_result(const Json& result);

}  // namespace cli
