// UpstreamServers: all upstream servers (MCP servers with tools that the daemon calls), and the calls to them. It does
// not check a tenant's rules: supervisor/upstream/calls/upstream_call.h decides which calls are allowed.
// Source: the daemon's configuration. Used by: supervisor/upstream/calls. Errors: not_found (unknown server),
// unavailable, exhausted (too many tenants or questions).
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "catalog/reader.h"
#include "supervisor/base/large_value.h"
#include "supervisor/base/one_shot.h"
#include "supervisor/base/trace_parent.h"
#include "supervisor/protocol/http/client.h"
#include "supervisor/upstream/authorization/login_service.h"
#include "supervisor/upstream/definitions.h"
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
  // The account of files below `workspace` and of servers/NAME/. Empty: only the disk's floor is watched.
  std::function<jail::DiskAccount(std::string owner)> account = {};
  TraceContext trace = {};           // of one call; sent to the server in `_meta`
  std::string idempotency_key = {};  // of one call that may be repeated; sent, too; empty: absent
};

inline constexpr char kNoLogins[] = "this Warder was built without oauth: nobody can log in to upstream servers";

class UpstreamServers {
 public:
  struct Settings {
    std::vector<ServerConfig> servers;
    int definitions = -1;                   // descriptor of the folder with their files; borrowed
    Caller no_user;                         // for servers that are shared, or started only to learn their tools
    oauth::LoginService* logins = nullptr;  // nullptr: a server with `oauth` cannot be used
    ServerNetwork* network = nullptr;       // for servers with `egress`
  };
  // The host, the logins and the network must outlive this object.
  UpstreamServers(jail::Host& host, Settings settings);

  // `changed` is called on the loop when tools have changed.
  void on_change(std::function<void()> changed) { changed_ = std::move(changed); }
  // Reads the stored definitions of all servers, beside the loop, then starts the servers with unknown tools, to learn
  // their tools.
  void begin();
  // Waits until the stored definitions are read, or for `limit`.
  Task<> loaded(std::chrono::milliseconds limit);
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
  // shared. Errors: not_found: no such server; invalid: it has no `oauth`; those of oauth::LoginService.
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
  // nullptr: the tool is unknown, or so are all tools of the server. `tenant` has tools of its own only where a server
  // runs on the tenant's files and its tools are unknown without them.
  std::shared_ptr<const KnownTool> known_tool(std::string_view tenant, std::string_view server,
                                              std::string_view tool) const;
  // The names of the tools that only this tenant has, at most 20 of them.
  std::vector<std::string> own_tools(std::string_view tenant, std::string_view server) const;
  // Where the results of that tool are noted, for the types that stubs show; nullptr: they are not.
  std::shared_ptr<ObservedResults> observed_results(std::string_view server, const KnownTool& tool) const;
  // Whether calls to this server may change files of the tenant's workspace.
  bool writes_workspace(std::string_view server) const;
  bool empty() const { return servers_.empty(); }
  // The server of that name, or else the only one with a name that differs only in capitals and punctuation:
  // "google_drive", as stubs write it, is "google-drive". Empty: no server.
  std::string_view intended_server(std::string_view name) const;
  // The name of a tool of that server, found in the same way; `tool` itself if no known tool matches.
  std::string intended_tool(std::string_view tenant, std::string_view server, std::string_view tool) const;
  // Splits "server__tool", "server.tool", "server:tool" or "server/tool" into server and tool. The server is found like
  // in intended_server(). Empty: no known server.
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
  std::vector<std::pair<std::string, std::shared_ptr<const catalog::Reading>>> readings() const;
  std::vector<std::string> unlearned() const;

  // Ends the connections of a tenant and its named workspaces, and their servers, as far as no call uses them.
  void end_idle_of(const std::string& account);

  // The observed results of a server have changed: stores them, and reports the change.
  void results_changed(std::string_view server);

  // Starts the server if its tools are unknown, to learn them. Errors: those of the start.
  Task<Result<>> make_known(const Caller& caller, std::string server);
  // Calls a tool. `arguments`: as KnownTool::write() returns them. `progress` may be empty. `asking`: the person behind
  // the call, and how to ask that person the server's questions.
  Task<Result<ServerAnswer>> call(const Caller& caller, std::string server, std::string tool,
                                  Transport::Arguments arguments, std::chrono::milliseconds limit,
                                  Client::Progress progress, Asking asking);

 private:
  struct Server {
    ServerConfig config;
    std::shared_ptr<const DefinitionsOfServer> known;  // nullptr: its tools are unknown
    std::map<std::string, std::unique_ptr<ServerConnection>, std::less<>> connections;  // by tenant
    // By tenant, while `known` is nullptr: what a server said that ran on the tenant's files. Only this tenant can call
    // these tools, and no search or stub has them.
    std::map<std::string, std::shared_ptr<const DefinitionsOfServer>, std::less<>> known_of;
    // nullptr: unknown
    const DefinitionsOfServer* known_for(std::string_view tenant) const;
    void forget_unconnected();  // in known_of
    ServerCounts counts;
    std::string problem;                               // ServerStatus::problem
    bool is_storing = false, has_new_results = false;  // store_results() runs; results have changed meanwhile
  };
  // Calls hold their server: one that adopt() has removed lives until its last call ends.
  using ServerPtr = std::shared_ptr<Server>;
  ServerPtr find(std::string_view name) const;
  void add(ServerConfig config);
  Task<> retire(ServerPtr server);
  const Caller& caller_of(const Server& server, const Caller& caller) const;
  // Removes idle connections if there is no room for one more. Errors: exhausted.
  Result<> make_room_for(Server& server, const Caller& caller);
  ServerConnection& connection_of(Server& server, const Caller& caller);
  ServerConnection::Start start_of(const Server& server, const Caller& caller);
  Task<> load(ServerPtr server);
  void learn();
  // Takes a list of tools that the server sent.
  Task<Result<>> learned(Server& server, Json tools);
  Task<Result<>> learned_for(Server& server, Work::Owner tenant, Json tools);
  Task<> store_results(ServerPtr server);
  Task<Result<std::unique_ptr<Transport>>> start(const Server& server, Caller caller, Variables secrets);
  Task<Result<std::unique_ptr<ServerProcess>>> start_process(const Server& server, Caller caller, Variables secrets);
  Task<> learn_one(ServerPtr server);
  Result<ServerPtr> server_with_login(std::string_view name) const;
  void note_login(const Server& server, ServerStatus& status) const;
  // A caller that only learns the tools, with the login of a tenant.
  Caller tester(const std::string& account) const;
  std::string logins_text(const Server& server) const;

  jail::Host& host_;
  Settings settings_;
  const std::shared_ptr<const Fd> folder_;  // of the definitions; jobs share it
  bool has_started_ = false;
  size_t loading_ = 0;  // servers whose stored definitions are being read
  std::vector<OneShot<>::Resolver> waiting_for_loads_;
  std::shared_ptr<http::HttpClient> http_;  // opened for the first server over HTTP
  std::function<void()> changed_;
  std::map<std::string, ServerPtr, std::less<>> servers_;
  Deadline telling_;  // delays the report of observed types, which rewrites all stubs
  Scope tasks_;       // last: cancelled first
};

}  // namespace upstream
