// UpstreamServers: all upstream servers (MCP servers with tools that the daemon calls), and the calls to them. It does
// not check a tenant's rules: supervisor/calls/upstream_call.h decides which calls are allowed.
// Source: the daemon's configuration. Used by: supervisor/tools/. Errors: not_found (unknown server or tool), invalid
// (the arguments do not fit the tool's schema; the call is not sent), unavailable, exhausted (too many tenants or
// questions).
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "catalog/reader.h"
#include "supervisor/base/large_value.h"
#include "supervisor/base/trace_parent.h"
#include "supervisor/base/under_way.h"
#include "supervisor/http/client.h"
#include "supervisor/oauth/logins.h"
#include "supervisor/upstream/process.h"
#include "supervisor/upstream/server_connection.h"
#include "supervisor/upstream/server_status.h"

namespace upstream {

// FolderOwner: keeps the folders of a Caller open. The program derives its own type.
struct FolderOwner {
  FolderOwner() = default;
  virtual ~FolderOwner() = default;
  FolderOwner(const FolderOwner&) = delete;
  FolderOwner& operator=(const FolderOwner&) = delete;
};

// Caller: the tenant that an upstream server runs for.
struct Caller {
  std::string tenant;
  std::shared_ptr<const policies::Policy> policy;
  int workspace = -1;                             // descriptor, open as long as `owner` exists
  int directory = -1;                             // descriptor of the parent of servers/NAME/; open as long, too
  std::shared_ptr<const FolderOwner> owner = {};  // nullptr: both descriptors outlive the UpstreamServers
  TraceContext trace = {};                        // of one call; sent to the server in `_meta`
  std::string idempotency_key = {};               // of one call that may be repeated; sent, too; empty: absent
};

class UpstreamServers {
 public:
  struct Settings {
    std::vector<ServerConfig> servers;
    int definitions = -1;          // descriptor of the folder with their files; borrowed
    Caller nobody;                 // for servers that are shared, or started only to learn their tools
    WorkerThread* disk = nullptr;  // reads and writes the logins; nullptr: a server with `oauth` cannot be used
    oauth::SealKey login_key = {};
    ServerNetwork* network = nullptr;  // for servers with `egress`; must outlive this object
  };
  // The host, and the thread of the settings, must outlive this object.
  UpstreamServers(jail::Host& host, Settings settings);

  // `changed` is called on the loop when tools have changed.
  void on_change(std::function<void()> changed) { changed_ = std::move(changed); }
  // Starts the servers with unknown tools, to learn their tools.
  void learn();
  // The servers are these from now on. A server with the same settings stays as it is. Calls of other servers that run
  // are finished, then their processes end. `standard` is the policy of shared servers that start later. Returns
  // whether tools may have changed.
  bool adopt(std::vector<ServerConfig> servers, std::shared_ptr<const policies::Policy> standard);
  // The settings of the servers that were imported from a client's file.
  std::vector<ServerConfig> imported_from(const std::string& file) const;
  // nullptr: there is no such server.
  const ServerConfig* config_of(std::string_view server) const;

  // All servers, by name.
  std::vector<ServerStatus> statuses() const;
  // Starts the server as for its first call, learns its tools, and ends it if it is not shared. A pause after failed
  // starts is not waited for. A server that runs already for all tenants is asked nothing. `account`: the tenant whose
  // login is used, where each tenant has its own; else empty. Errors: not_found: there is no such server; invalid: it
  // needs the name of a tenant, or has no logins of tenants; those of the start.
  Task<Result<>> test(std::string name, std::string account);

  // Logins at servers whose configuration has `oauth`. Owner: the account of a tenant, or empty for a server that is
  // shared. Errors: not_found: no such server; invalid: it has no `oauth`; those of oauth/logins.h.
  Result<bool> is_login_shared(std::string_view server) const;
  // Returns the id of the login, for finish_login(), and the URL for a person's browser.
  Task<Result<std::pair<std::string, std::string>>> begin_login(std::string server, std::string owner,
                                                                std::string redirect, std::vector<std::string> scopes);
  // Starts the server once for that owner, to learn its tools; a failure of that start is no error.
  Task<Result<>> finish_login(std::string server, std::string owner, std::string id, std::string redirected);
  // Whether there was a login, and why its tokens may still be good at the authorization server (oauth::Logout).
  // Connections end when no call uses them.
  Task<Result<std::pair<bool, std::string>>> log_out(std::string server, std::string owner);
  // The tenant is removed: its logins, too.
  void forget_logins_of(const std::string& account);

  bool has(std::string_view server) const { return servers_.contains(server); }
  // False also while the server's tools are unknown.
  bool has_tool(std::string_view server, std::string_view tool) const;
  // The schema of the tool's arguments; nullptr: the tool is unknown, or declares none. Valid until the next turn of
  // the loop.
  const Json* input_schema(std::string_view server, std::string_view tool) const;
  // The schema that the tool declares for its results; null: the tool declares no schema, or is unknown.
  Json output_schema(std::string_view server, std::string_view tool) const;
  // Whether calls to this server may change files of the tenant's workspace.
  bool writes_workspace(std::string_view server) const;
  bool empty() const { return servers_.empty(); }
  // The server of that name, or else the only one with a name that differs only in capitals and punctuation:
  // "google_drive", as stubs write it, is "google-drive". Empty: no server.
  std::string_view meant_server(std::string_view name) const;
  // The name of a tool of that server, found in the same way; `tool` itself if no known tool matches.
  std::string meant_tool(std::string_view server, std::string_view tool) const;
  // Splits "server__tool", "server.tool", "server:tool" or "server/tool" into server and tool. The server is found like
  // in meant_server(). Empty: no known server.
  std::optional<std::pair<std::string, std::string>> split(std::string_view name) const;
  // Calls `fn(name, counts, running)` for each server, in the order of the names. `running`: its connections with a
  // running server.
  template <class Fn>
  void each_counted(Fn fn) const {
    for (const auto& [name, server] : servers_) {
      uint64_t running = 0;
      for (const auto& [tenant, connection] : server->connections) running += connection->is_running() ? 1 : 0;
      fn(name, server->counts, running);
    }
  }
  // The known tools of each server, and the names of the servers with unknown tools, for the catalog.
  std::vector<std::pair<std::string, catalog::Reading>> readings() const;
  std::vector<std::string> unlearned() const;

  // Ends the connections of a tenant and its named workspaces, and their servers, as far as no call uses them.
  void end_idle_of(const std::string& account);

  // Notes the result of a tool, for the types that stubs show (observed.h).
  void observe(std::string_view server, std::string_view tool, const Json& value);

  // Calls a tool. `progress` may be empty. `asking`: the person behind the call, and how to ask that person the
  // server's questions. Large arguments are checked and written beside the loop; later calls of the same tenant to that
  // server follow them in order.
  Task<Result<ServerAnswer>> call(const Caller& caller, std::string server, std::string tool, FreedBeside arguments,
                                  std::chrono::milliseconds limit, Client::Progress progress, Asking asking);

 private:
  struct Server {
    ServerConfig config;
    std::optional<Definitions> definitions;
    std::map<std::string, std::unique_ptr<ServerConnection>, std::less<>> connections;  // by tenant
    ServerCounts counts;
    UnderWay<std::string> writing;  // by tenant: calls with arguments that are being checked and written
    std::string problem;            // ServerStatus::problem
  };
  // Calls hold their server: one that adopt() has removed lives until its last call ends.
  using ServerPtr = std::shared_ptr<Server>;
  ServerPtr find(std::string_view name) const;
  void add(ServerConfig config);
  Task<> retire(ServerPtr server);
  const Caller& whose(const Server& server, const Caller& caller) const;
  // Removes idle connections if there is no room for one more. Errors: exhausted.
  Result<> make_room_for(Server& server, const Caller& caller);
  ServerConnection& connection_of(Server& server, const Caller& caller);
  ServerConnection::Start start_of(const Server& server, const Caller& caller);
  void learned(Server& server, Definitions definitions);
  void keep(const Server& server);
  Task<Result<std::unique_ptr<Transport>>> start(const Server& server, Caller caller, Variables secrets);
  Task<Result<std::unique_ptr<ServerProcess>>> start_process(const Server& server, Caller caller, Variables secrets);
  Task<> learn_one(ServerPtr server);
  Result<ServerPtr> server_with_login(std::string_view name) const;
  void note_login(const Server& server, ServerStatus& status) const;
  // A caller that only learns the tools, with the login of a tenant.
  Caller tester(const std::string& account) const;
  std::string logins_text(const Server& server) const;
  // Checks and writes the arguments of a call beside the loop. Errors: invalid: they do not fit the schema.
  Task<Result<Transport::Arguments>> write_beside(Server& server, const Caller& caller, const std::string& tool,
                                                  const ToolEntry& entry, FreedBeside arguments);

  jail::Host& host_;
  Settings settings_;
  std::shared_ptr<http::HttpClient> http_;  // opened for the first server over HTTP
  std::unique_ptr<oauth::Logins> logins_;   // nullptr: without Settings::disk
  std::function<void()> changed_;
  std::map<std::string, ServerPtr, std::less<>> servers_;
  Deadline telling_;  // delays the report of observed types, which rewrites all stubs
  Scope tasks_;       // last: cancelled first
};

}  // namespace upstream
