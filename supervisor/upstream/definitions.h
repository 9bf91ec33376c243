// Definitions: what one server says about its tools, each with its checked input schema, and what the results of those
// look like that declare none; and the file in which all that is kept, so that a daemon knows it before it has started
// anything.
// Source: tools/list, which is the server's word: bounded, and what is wrong is left out. Errors: invalid.
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
  std::shared_ptr<const policies::JsonSchema> input;  // nullptr: anything; let_pass
  std::vector<Mirrored> mirrored;                     // into headers, over HTTP
};

struct Definitions {
  static constexpr size_t kMaxTools = 2'000;
  static constexpr size_t kMaxBytes = 16 << 20;
  std::map<std::string, ToolEntry, std::less<>> tools;
  std::map<std::string, Observed, std::less<>> observed;  // by tool: of those that declare no outputSchema

  // `tools`: the list of definitions.
  static Definitions read(const Json& tools);
  Json list() const;  // the definitions, by name
  // The same for people and code: with what was observed as outputSchema, whose description says so, and without what a
  // library wraps around results (wrapped_result.h).
  Json described() const;
  // Keeps what was observed of tools that are still the same.
  void inherit(Definitions&& before);
  // A result of that tool. True: described() says something else now.
  bool observe(std::string_view tool, const Json& result);
};

// The file NAME.json below `folder`, for a server that is started the same way. Errors: not_found, invalid.
Result<Definitions> load_definitions(int folder, const ServerConfig& config);
Result<> save_definitions(int folder, const ServerConfig& config, const Definitions& definitions);

}  // namespace upstream
