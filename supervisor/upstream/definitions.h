// Definitions: the tools of one upstream server, and the observed forms of their results, for tools without an
// outputSchema (observed.h). A file stores them, so that a new daemon knows the tools before it starts a server.
// Source: tools/list of the server, which is not trusted: sizes are bounded, and invalid tools are left out. All
// functions are jobs of Work: they may run on any thread.
// Used by: upstream_servers.cc. Errors: invalid; those of the meter.
#pragma once
#include <map>
#include <memory>
#include <string>

#include "catalog/reader.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/result.h"
#include "supervisor/base/work_meter.h"
#include "supervisor/upstream/known_tool.h"
#include "supervisor/upstream/observed.h"
#include "supervisor/upstream/server_config.h"

namespace upstream {

struct Definitions {
  static constexpr size_t kMaxTools = 2'000;
  static constexpr size_t kMaxBytes = 16 << 20;
  std::map<std::string, std::shared_ptr<const KnownTool>, std::less<>> tools;
  std::shared_ptr<ObservedResults> observed =
      std::make_shared<ObservedResults>();  // only of tools without outputSchema

  // `tools`: the list of definitions.
  static Result<Definitions> read(Json tools, WorkMeter& meter);
  // The definitions for people and code. A tool without outputSchema gets the observed schema; the description of that
  // schema says so. The wrapping of a library around results is removed (wrapped_result.h).
  Json described() const;
  // Whether both have equal definitions of equal tools.
  Result<bool> is_same(const Definitions& other, WorkMeter& meter) const;
  // Takes over the observed results of tools with an unchanged definition.
  void inherit(const Definitions& before);
};

// DefinitionsOfServer: what the daemon knows of a server's tools. Does not change.
struct DefinitionsOfServer {
  Definitions definitions;
  catalog::Reading reading;  // the same for the catalog
};

// The document of the file NAME.json below `folder`. Linear in its size. Errors: not_found: no file, or one of a server
// with another command; invalid.
Result<Json> read_stored(int folder, const ServerConfig& config);
// The definitions of this document. Errors: those of the meter.
Result<Definitions> load_definitions(Json document, WorkMeter& meter);
Result<> save_definitions(int folder, const ServerConfig& config, const Definitions& definitions);

}  // namespace upstream
