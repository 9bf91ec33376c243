// The entry that makes an MCP client spawn `warder mcp`, ready to paste, for the clients people use.
// Source: each client's documentation, autumn 2026; the formats differ in one key, and that key is what costs an hour.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/result.h"
#include "supervisor/cli/socket.h"

namespace cli {

enum class ConfigFormat { json, toml, yaml };

struct ClientConfig {
  std::string_view name;  // as in `warder config NAME`
  ConfigFormat format;
  std::string_view where;  // where the entry goes, one line
};

const std::vector<ClientConfig>& known_clients();

struct ConfigEntry {
  std::string text;   // for standard output: nothing but the entry
  std::string where;  // for standard error
};

// `program` is the absolute path of warder; the socket is named only if it was asked for.
// Errors: not_found, "no client is called 'emacs'"; the hint lists those that are known.
Result<ConfigEntry> client_config(std::string_view client, const std::string& program, const SocketPath& socket);

}  // namespace cli
