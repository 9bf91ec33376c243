// ServerConfig: one upstream MCP server, and how it is started or reached.
// Source: "servers" of the daemon's configuration, and the configuration files of MCP clients that "import" names.
// Applied by server_connection.cc. Errors: invalid, naming key and remedy: "servers.files.command: missing".
#pragma once
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "policies/egress_rules.h"
#include "supervisor/base/json/json_fwd.h"
#include "supervisor/base/result.h"
#include "supervisor/upstream/authorization/settings.h"

namespace upstream {

struct ServerConfig {
  enum class ServerHost { jail, outside };     // outside: as the daemon's user, with its files and network
  enum class Sharing { tenant, all_users };    // one process for each tenant, or one for all tenants
  std::string name;                            // [A-Za-z0-9_-]{1,48}
  std::vector<std::string> command;            // empty: the server is reached over HTTP
  std::string url, socket;                     // for HTTP; the Unix socket replaces the URL's host, or is empty
  std::map<std::string, std::string> headers;  // of each request
  std::optional<oauth::OAuthSettings> oauth;   // how to get tokens for `url`; nullopt: none are sent
  std::string authorities;                     // PEM file of certificate authorities; empty: the system's
  std::map<std::string, std::string> environment;
  std::map<std::string, std::string> secrets;  // variable or header: its file. Read at each start, hidden in answers
  std::string folder;  // working directory; in a jail shown as /workspace. Empty: one per tenant; outside of jails "/"
  bool tenants_folder = false;   // the folder is the calling tenant's workspace
  policies::EgressRules egress;  // the hosts that a server in a jail may reach; none: no network
  ServerHost location = ServerHost::jail;
  uint32_t processes = 0;     // in a jail, with threads; 0: the most that the caller's policy allows a call
  uint64_t memory_bytes = 0;  // in a jail; 0: the standard limit of the caller's policy
  Sharing sharing = Sharing::tenant;
  bool observe = true;                        // stubs show the observed form of results that a tool does not declare
  std::chrono::milliseconds idle{300'000};    // without calls; then the server is ended
  std::chrono::milliseconds timeout{60'000};  // of one call
  std::chrono::milliseconds start{30'000};    // of the handshake, and of each page of tools/list
  std::string imported_from;                  // the client's file; empty: the daemon's own configuration

  bool remote() const { return command.empty(); }
  bool operator==(const ServerConfig&) const = default;
};

// "servers": {NAME: {command, args, env, folder, jail, processes, memory_mb, egress, secrets, share, observe, idle_s,
// timeout_s, start_s}}, or {url, type, headers, authorities, oauth, secrets, share, ...}.
Result<std::vector<ServerConfig>> read_servers(const Json& object, const std::string& path);
struct ImportNotes {
  std::vector<std::string> skipped;     // a sentence about each skipped file and server
  std::vector<std::string> unreadable;  // the files among them that this process may not read
};
// "import": [{file, jail}]: the `mcpServers` of Claude Code and similar clients, or the `servers` of VS Code. The files
// belong to other programs. So a file that is missing or cannot be used, and a server that cannot be used or speaks
// neither stdio nor Streamable HTTP, are skipped. In both functions ${VAR},
// ${env:VAR} and ${VAR:-else} stand for variables of the daemon's environment. Errors: invalid: `list` itself is wrong.
Result<std::vector<ServerConfig>> read_imports(const Json& list, const std::string& path, ImportNotes& notes);
// Errors: invalid: two servers have the same name, or there are more than 200.
Result<> check_names(const std::vector<ServerConfig>& servers);

}  // namespace upstream
