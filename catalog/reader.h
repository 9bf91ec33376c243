// Reader: reads one JSON document of tool definitions, in one of three forms:
//   a catalogue    {"categories": {CATEGORY: {"description", "tools": {NAME: {"name", "mcp_server", "description",
//                  "functions", "use_cases", ...}}}}, "core_mcps": [...]}; its "total_tools" is not believed
//   tools/list     {"tools": [{"name", "description", "inputSchema", "outputSchema", "annotations", ...}, ...]}, alone
//                  or as the "result" of a response, or the array itself; beside "tools" may stand "server",
//                  "category", "description" (the category's) and "tags", for all of them
//   one tool       {"name", ...} with "mcp_server" or "server", "category", "tags", "usage", and any of the above
// Definitions come from upstream servers: they are bounded and checked. Invalid parts are left out and named as
// problems.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/tool.h"
#include "supervisor/base/json/json_fwd.h"
#include "supervisor/base/result.h"

namespace catalog {

constexpr size_t kMaxNameBytes = 128;
constexpr size_t kMaxLabelBytes = 128;              // of a server, a category or a tag
constexpr size_t kMaxDescriptionBytes = 16 * 1024;  // longer ones are cut at a whole character
constexpr size_t kMaxDefinitionBytes = 64 * 1024;   // the other members, as compact JSON
constexpr size_t kMaxTags = 32;

// How much a form says about a tool: if two files define one tool, each member comes from the form that says more.
enum class Form : uint8_t { catalogue, one_tool, tools_list };

// Where a document comes from, with server and category for tools that do not name them.
struct DocumentOrigin {
  std::string server;    // name of the file without .json
  std::string category;  // name of the folder; empty: the server is the category
};

struct Reading {
  Form form = Form::catalogue;
  std::vector<Tool> tools;
  std::map<std::string, std::string> categories;  // descriptions; also of categories without tools
  std::vector<std::string> core_servers;          // "core_mcps"
  std::vector<std::string> problems;              // "tools[3]: 'name' is not a string"; that part was left out
  size_t more_problems = 0;                       // number of problems that are not in `problems`
};

// Errors: invalid: the document has another form.
Result<Reading> read_definitions(Json document, const DocumentOrigin& origin);

// Whether `text` may name a tool (no spaces) or a server, category or tag.
bool valid_tool_name(std::string_view text);
bool valid_label(std::string_view text);

}  // namespace catalog
