#include "supervisor/tools/nearest_tool.h"

#include <string>

#include "tests/catch.h"

using tools::nearest_tool;

namespace {

const std::vector<std::string_view> kOffered = {
    "execute_code", "write_workspace_file", "read_workspace_file",  "list_workspace_files",
    "search_tools", "get_tool_definition",  "list_tool_categories", "call_tool",
    "save_skill"};

}  // namespace

TEST_CASE("a tool that there is not has a nearest one, by spelling or by meaning", "[nearest_tool]") {
  const auto [name, nearest] = GENERATE(table<std::string, std::string>({
      {"run_code", "execute_code"},
      {"python", "execute_code"},
      {"Bash", "execute_code"},
      {"execute", "execute_code"},
      {"read_file", "read_workspace_file"},
      {"mcp__warder__execute_code", "execute_code"},
      {"warder.read_file", "read_workspace_file"},
      {"executeCode", "execute_code"},
      {"execute-code", "execute_code"},
      {"excute_code", "execute_code"},
      {"exceute_code", "execute_code"},
      {"list_workspace_file", "list_workspace_files"},
      {"serach_tools", "search_tools"},
      {"get_weather", ""},
      {"near__value", "call_tool"},
      {"mcp__near__value", ""},
      {"", ""},
      {"___", ""},
      {std::string(100'000, 'x'), ""},
  }));
  CAPTURE(name.substr(0, 50));
  CHECK(nearest_tool(name, kOffered) == nearest);
}

TEST_CASE("a tool that is not offered is nobody's nearest", "[nearest_tool]") {
  CHECK(nearest_tool("run_code", {"search_tools"}).empty());
  CHECK(nearest_tool("execute_codes", {"search_tools"}).empty());
}
