#include <fmt/format.h>

#include "catalog/did_you_mean.h"
#include "supervisor/base/json/fields.h"
#include "supervisor/tools/catalog/catalog_answers.h"
#include "supervisor/tools/catalog/catalog_tools.h"

namespace tools {
namespace {

constexpr size_t kMaxNamesListed = 2000;
constexpr size_t kMaxServers = 41;  // an error names 40; the 41st shows that there are more

}  // namespace

Result<Json> list_tools(const catalog::Catalog& catalog, const Json& arguments) {
  Fields in(arguments, "list_tools");
  CHECKED(in.done());
  Json names = Json::array();
  for (uint32_t number = 0; number < catalog.size() && names.size() < kMaxNamesListed; number++) {
    const catalog::ToolView tool = catalog.tool(number);
    if (tool.kind == catalog::ToolKind::tool)
      names.push_back(tool.server.empty() ? std::string(tool.name) : fmt::format("{}__{}", tool.server, tool.name));
  }
  return names;
}

Result<Json> nearest_tools(const catalog::Catalog& catalog, const Json& arguments) {
  Fields in(arguments, "nearest_tools");
  TRY(const std::string server, in.string("server", 2000));
  TRY(const std::string tool, in.string_or("tool", "", 2000));
  CHECKED(in.done());
  const std::string_view target = catalog.nearest_server(server);
  Json answer = {{"text", catalog::did_you_mean(catalog, tool, server)},
                 {"server", target.empty() ? Json(nullptr) : Json(std::string(target))},
                 {"servers", Json::array()},
                 {"tools", Json::array()}};
  for (const catalog::Group& group : catalog.servers())
    if (!group.name.empty() && answer["servers"].size() < kMaxServers) answer["servers"].push_back(group.name);
  if (!tool.empty()) answer["tools"] = name_all(catalog, catalog.nearest_tools(tool, target));
  return answer;
}

}  // namespace tools
