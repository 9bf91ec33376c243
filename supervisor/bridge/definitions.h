// Definitions: what one server says about its tools, each with its checked input schema; and the file in which they are
// kept, so that a daemon knows them before it has started anything.
// Source: tools/list, which is the server's word: bounded, and what is wrong is left out. Errors: invalid.
#pragma once
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "policies/json_schema.h"
#include "supervisor/base/result.h"
#include "supervisor/bridge/mirrored.h"
#include "supervisor/bridge/server_config.h"

namespace bridge {

struct ToolEntry {
  nlohmann::json definition;
  std::shared_ptr<const policies::JsonSchema> input;  // nullptr: anything; let_pass
  std::vector<Mirrored> mirrored;                     // into headers, over HTTP
};

struct Definitions {
  static constexpr size_t kMaxTools = 2'000;
  static constexpr size_t kMaxBytes = 16 << 20;
  std::map<std::string, ToolEntry, std::less<>> tools;

  // `tools`: the list of definitions.
  static Definitions read(const nlohmann::json& tools);
  nlohmann::json list() const;  // the definitions, by name
};

// The file NAME.json below `folder`, for a server that is started the same way. Errors: not_found, invalid.
Result<Definitions> load_definitions(int folder, const ServerConfig& config);
Result<> save_definitions(int folder, const ServerConfig& config, const Definitions& definitions);

}  // namespace bridge
