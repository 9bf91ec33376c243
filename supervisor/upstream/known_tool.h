// KnownTool: one tool of an upstream server, as the server defined it. Its input schema is compiled at the first call,
// because a server may list thousands of tools with large schemas, of which few are ever called.
// Source: tools/list of the server, which is not trusted. Used by: definitions.h, upstream_servers.cc,
// supervisor/upstream/calls. Errors: invalid.
#pragma once
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "policies/schema/json_schema.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/result.h"
#include "supervisor/base/work_meter.h"
#include "supervisor/upstream/mirrored.h"

namespace upstream {

// All members may be used on any thread.
class KnownTool {
 public:
  // Errors: invalid: no definition of a tool, or one with an invalid x-mcp-header, which the specification excludes.
  static Result<std::shared_ptr<const KnownTool>> read(Json definition);

  const std::string& name() const { return (*definition_)["name"].get_ref<const std::string&>(); }
  const Json& definition() const { return *definition_; }
  // nullptr: the tool declares none.
  const Json* input_schema() const { return member("inputSchema"); }
  const Json* output_schema() const { return member("outputSchema"); }

  // The arguments of a call as the transport sends them. Arguments that the schema does not allow are an error. If the
  // schema is no JSON Schema, only the server checks them. Errors: invalid, naming tool and place; those of the meter.
  Result<Transport::Arguments> write(const Json& arguments, WorkMeter& meter) const;

 private:
  using Schema = std::shared_ptr<const policies::JsonSchema>;
  explicit KnownTool(std::shared_ptr<const Json> definition) : definition_(std::move(definition)) {}
  const Json* member(const char* key) const;
  Result<Schema> compiled_input(WorkMeter& meter) const;

  const std::shared_ptr<const Json> definition_;
  std::vector<Mirrored> mirrored_;  // arguments repeated as headers over HTTP
  mutable std::mutex mutex_;
  mutable std::optional<Schema> input_;  // by mutex_; nullptr: any arguments
};

}  // namespace upstream
