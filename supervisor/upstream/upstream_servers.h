// UpstreamServers: the MCP servers whose tools we call (upstream servers), and the calls to them. Knows no policy of
// tenants: supervisor/tools/catalog/call_tool.h decides who may call what.
// Source: the daemon's configuration. Errors: not_found (no such server or tool), invalid (arguments that do not fit
// the tool's schema: nothing is sent), unavailable.
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
#include "supervisor/upstream/process.h"
#include "supervisor/upstream/server_connection.h"

namespace upstream {

// For whom an upstream server runs.
struct Caller {
  std::string tenant;
  std::shared_ptr<const policies::Policy> policy;
  int workspace = -1;                      // borrowed from the tenant
  int directory = -1;                      // where its servers have folders of their own; borrowed, too
  std::shared_ptr<const void> keeps = {};  // the tenant
  TraceContext trace = {};                 // of one call: what it tells the server in `_meta`
};

class UpstreamServers {
 public:
  struct Settings {
    std::vector<ServerConfig> servers;
    int definitions = -1;  // folder where they are kept; borrowed
    Caller nobody;         // whose servers are started only to learn what they have, and those that everybody shares
  };
  // The host must outlive this object.
  UpstreamServers(jail::Host& host, Settings settings);

  // Called on the loop when tools have changed.
  void on_change(std::function<void()> changed) { changed_ = std::move(changed); }
  // Starts those of whom nothing is known, to learn what tools they have.
  void learn();

  bool has(std::string_view server) const { return servers_.contains(server); }
  // As far as is known by now.
  bool has_tool(std::string_view server, std::string_view tool) const;
  // The schema that the tool declares for its results; null: none, or the tool is not known.
  Json output_schema(std::string_view server, std::string_view tool) const;
  // Its calls may change the files of the tenant's workspace.
  bool writes_workspace(std::string_view server) const;
  bool empty() const { return servers_.empty(); }
  // Ours of that name, or else the only one whose name differs from it in capitals and marks alone: "google_drive", as
  // its stubs have it, is "google-drive". Empty: none.
  std::string_view meant_server(std::string_view name) const;
  // The name of a tool of that server, found likewise; `tool` itself where none is known.
  std::string meant_tool(std::string_view server, std::string_view tool) const;
  // "server__tool", "server.tool" or "server:tool" in one of ours, whose name is found as above; nothing otherwise.
  std::optional<std::pair<std::string, std::string>> split(std::string_view name) const;
  // What is known of the tools of each, for the catalogue.
  std::vector<std::pair<std::string, catalog::Reading>> readings() const;

  // What a call of that tool has given, for the types that stubs show (observed.h).
  void observe(std::string_view server, std::string_view tool, const Json& value);

  // One call. `progress` may be empty. `asking`: whose call it is, and who answers what the server asks meanwhile.
  // Large arguments are checked and written beside the loop; the caller's next calls of that server follow them.
  Task<Result<ServerAnswer>> call(const Caller& caller, std::string server, std::string tool, FreedBeside arguments,
                                  std::chrono::milliseconds limit, Client::Progress progress, Asking asking);

 private:
  struct Server {
    ServerConfig config;
    std::optional<Definitions> definitions;
    std::map<std::string, std::unique_ptr<ServerConnection>, std::less<>> connections;  // by tenant
    UnderWay<std::string> writing;  // tenants' calls, whose arguments are checked and written
  };
  const Caller& whose(const Server& server, const Caller& caller) const;
  // Forgets connections that rest, where there are too many for one more. Errors: exhausted.
  Result<> make_room_for(Server& server, const Caller& caller);
  ServerConnection& connection_of(Server& server, const Caller& caller);
  ServerConnection::Start start_of(const Server& server, const Caller& caller);
  void learned(Server& server, Definitions definitions);
  void keep(const Server& server);
  Task<Result<std::unique_ptr<Transport>>> start(const Server& server, Caller caller, Variables secrets);
  Task<Result<std::unique_ptr<ServerProcess>>> start_process(const Server& server, Caller caller, Variables secrets);
  Task<> learn_one(Server& server);
  // What of a call depends on its arguments, made beside the loop. Errors: invalid, they do not fit.
  Task<Result<Transport::Arguments>> write_beside(Server& server, const Caller& caller, const std::string& tool,
                                                  const ToolEntry& entry, FreedBeside arguments);

  jail::Host& host_;
  Settings settings_;
  std::shared_ptr<http::HttpClient> http_;  // opened with the first server that needs it
  std::function<void()> changed_;
  std::map<std::string, Server, std::less<>> servers_;
  Deadline telling_;  // of types that were observed: a little later, for all stubs are written anew
  Scope tasks_;       // last: cancelled first
};

}  // namespace upstream
