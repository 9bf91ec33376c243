// ServerConfig: one MCP server that code and agents may call, and how it is run, or where it is.
// Source: "servers" of the daemon's configuration, and the configuration files of MCP clients that "import" names.
// Applied by server_connection.cc. Errors: invalid, naming key and remedy: "servers.files.command: missing".
#pragma once
#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "supervisor/base/json_fwd.h"
#include "supervisor/base/result.h"

namespace upstream {

struct ServerConfig {
  enum class Place { jail, outside };          // outside: as the daemon's user, with its files and its network
  enum class Sharing { tenant, everybody };    // a process for each tenant, or one for all
  std::string name;                            // [A-Za-z0-9_-]{1,48}
  std::vector<std::string> command;            // empty: it is asked over HTTP, at
  std::string url, socket;                     // this URL; by a Unix socket instead of the URL's host, or empty
  std::map<std::string, std::string> headers;  // of each request
  std::string authorities;                     // PEM file of certificate authorities; empty: the system's
  std::map<std::string, std::string> environment;
  std::map<std::string, std::string>
      secrets;                  // variable, or header, to file; read at each start, hidden in what comes back
  std::string folder;           // where it runs; in a jail shown as /workspace. Empty: nothing
  bool tenants_folder = false;  // it is the calling tenant's workspace
  Place place = Place::jail;
  Sharing sharing = Sharing::tenant;
  bool observe = true;  // what results look like is shown in the stubs of tools that do not declare it
  std::chrono::milliseconds idle{300'000};    // without calls, then it is ended
  std::chrono::milliseconds timeout{60'000};  // of one call
  std::chrono::milliseconds start{30'000};    // from its start until its tools are known

  bool remote() const { return command.empty(); }
};

// "servers": {NAME: {command, args, env, folder, jail, secrets, share, observe, idle_s, timeout_s, start_s}}, or {url,
// type, headers, authorities, secrets, share, ...}.
Result<std::vector<ServerConfig>> read_servers(const Json& object, const std::string& path);
// "import": [{file, jail}]: the `mcpServers` of Claude Code and its like, or the `servers` of VS Code. Those that are
// neither stdio servers nor speak Streamable HTTP are left out, by name in `skipped`. ${VAR} and ${env:VAR} stand for
// the daemon's own environment.
Result<std::vector<ServerConfig>> read_imports(const Json& list, const std::string& path,
                                               std::vector<std::string>& skipped);
// Errors: invalid: two have the same name.
Result<> check_names(const std::vector<ServerConfig>& servers);

}  // namespace upstream
