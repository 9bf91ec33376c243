// Client configuration: the text that a user pastes into an MCP client's configuration, so that the client starts
// `warder mcp`, or connects over HTTP. Source: each client's documentation, autumn 2026; the formats and the names of
// keys differ between clients. Used by: arguments.cc, for `warder config`.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/result.h"
#include "supervisor/programs/cli/socket.h"

namespace cli {

enum class ConfigFormat { json, toml, yaml };

struct ClientConfig {
  std::string_view name;  // as in `warder config NAME`
  ConfigFormat format;
  std::string_view where;  // where the entry goes, one line
};

const std::vector<ClientConfig>& known_clients();

struct ConfigEntry {
  std::string text;   // for standard output: only the entry
  std::string where;  // for standard error
};

// `program` is the absolute path of warder. The entry names the socket only if the user gave one.
// Errors: not_found, "no client is called 'emacs'"; the hint lists the known clients.
Result<ConfigEntry> client_config(std::string_view client, const std::string& program, const SocketPath& socket);

// The entry of a client that speaks HTTP: it names the place of the token, and never the token itself, because these
// files are shared. `url`: "http://127.0.0.1:9470/mcp", or the address of a proxy.
// Errors: as above; invalid: not a URL, or this client's entry for HTTP is not known.
Result<ConfigEntry> http_client_config(std::string_view client, const std::string& url);

}  // namespace cli
