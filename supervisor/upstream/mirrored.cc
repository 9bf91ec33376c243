#include "supervisor/upstream/mirrored.h"

#include <fmt/format.h>

#include <set>

#include "supervisor/base/ascii.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/log.h"
#include "supervisor/protocol/http/client.h"
#include "supervisor/upstream/http_transport.h"

namespace upstream {
namespace {

constexpr const char* kMark = "x-mcp-header";
constexpr size_t kMax = 32;

size_t count_marks(const Json& value, int depth) {
  if (depth > kMaxJsonDepth || !value.is_structured()) return 0;
  size_t all = value.is_object() && value.contains(kMark) ? 1 : 0;
  for (const Json& item : value) all += count_marks(item, depth + 1);
  return all;
}

Result<> read_properties(const Json& schema, std::vector<std::string>& path, std::vector<Mirrored>& all) {
  auto properties = schema.find("properties");
  if (properties == schema.end() || !properties->is_object()) return {};
  for (const auto& [name, property] : properties->items()) {
    if (!property.is_object()) continue;
    path.push_back(name);
    if (auto mark = property.find(kMark); mark != property.end()) {
      const Json type = property.value("type", Json());
      if (!mark->is_string() || !http::check_header(mark->get<std::string>(), ""))
        return fail(Code::invalid, fmt::format("'{}' is not a header name", printable(name, 64)));
      if (type != "string" && type != "integer" && type != "boolean")
        return fail(Code::invalid, fmt::format("'{}' has a type that a header cannot hold", printable(name, 64)));
      all.push_back({"Mcp-Param-" + mark->get<std::string>(), path});
    }
    CHECKED(read_properties(property, path, all));
    path.pop_back();
  }
  return {};
}

}  // namespace

Result<std::vector<Mirrored>> read_mirrored(const Json& schema) {
  std::vector<Mirrored> all;
  const size_t marks = schema.is_object() ? count_marks(schema, 0) : 0;
  if (marks == 0) return all;
  if (marks > kMax) return fail(Code::invalid, fmt::format("x-mcp-header is there more than {} times", kMax));
  std::vector<std::string> path;
  CHECKED(read_properties(schema, path, all));
  if (all.size() != marks) return fail(Code::invalid, "x-mcp-header is at a place without an argument");
  std::set<std::string> names;
  for (const auto& item : all) {
    std::string name = lower_case(item.header);
    if (!names.insert(name).second) return fail(Code::invalid, "two arguments have the same x-mcp-header");
  }
  return all;
}

Transport::Headers mirror(const std::vector<Mirrored>& all, const Json& arguments) {
  Transport::Headers headers;
  for (const auto& item : all) {
    const Json* at = &arguments;
    for (const auto& key : item.path) at = at && at->is_object() && at->contains(key) ? &(*at)[key] : nullptr;
    if (!at || at->is_null() || at->is_structured()) continue;
    headers.emplace_back(item.header, header_value(at->is_string() ? at->get<std::string>() : dump_json(*at)));
  }
  return headers;
}

}  // namespace upstream
