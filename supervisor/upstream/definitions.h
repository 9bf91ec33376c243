// Definitions: the tools of one upstream server. Each tool has its definition, its checked input schema and, if it
// declares no outputSchema, the observed form of its results (observed.h). A file stores them, so that a new daemon
// knows the tools before it starts a server.
// Source: tools/list of the server, which is not trusted: sizes are bounded, and invalid tools are left out.
// Used by: upstream_servers.cc and server_connection.cc. Errors: invalid.
#pragma once
#include <map>
#include <memory>
#include <string>

#include "policies/schema/json_schema.h"
#include "supervisor/base/json_value.h"
#include "supervisor/base/result.h"
#include "supervisor/upstream/mirrored.h"
#include "supervisor/upstream/observed.h"
#include "supervisor/upstream/server_config.h"

namespace upstream {

struct ToolEntry {
  Json definition;
  std::shared_ptr<const policies::JsonSchema> input;  // nullptr: any arguments; Unknown::let_pass
  std::vector<Mirrored> mirrored;                     // arguments repeated as headers over HTTP
};

struct Definitions {
  static constexpr size_t kMaxTools = 2'000;
  static constexpr size_t kMaxBytes = 16 << 20;
  std::map<std::string, ToolEntry, std::less<>> tools;
  std::map<std::string, Observed, std::less<>> observed;  // by tool; only tools without outputSchema

  // `tools`: the list of definitions.
  static Definitions read(const Json& tools);
  Json list() const;  // the definitions, by name
  // The definitions for people and code. A tool without outputSchema gets the observed schema; the description of that
  // schema says so. The wrapping of a library around results is removed (wrapped_result.h).
  Json described() const;
  // Takes over the observed results of tools with an unchanged definition.
  void inherit(Definitions&& before);
  // Notes a result of that tool. True: described() has changed.
  bool observe(std::string_view tool, const Json& result);
};

// The file NAME.json below `folder`. Errors: not_found: no file, or one of a server with another command; invalid.
Result<Definitions> load_definitions(int folder, const ServerConfig& config);
Result<> save_definitions(int folder, const ServerConfig& config, const Definitions& definitions);

}  // namespace upstream
