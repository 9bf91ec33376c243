#include "supervisor/tools/nearest_tool.h"

#include <algorithm>
#include <string>
#include <utility>

#include "supervisor/base/ascii.h"

namespace tools {
namespace {

constexpr size_t kMaxName = 64;  // bytes; a longer name is no misspelt name of a tool

// Names that agents and other servers use for these tools, in small letters, without '_', '-' and '.'.
constexpr std::pair<std::string_view, std::string_view> kOtherNames[] = {
    {"runcode", "execute_code"},
    {"runpython", "execute_code"},
    {"runpythoncode", "execute_code"},
    {"runjavascript", "execute_code"},
    {"runshell", "execute_code"},
    {"runcommand", "execute_code"},
    {"runscript", "execute_code"},
    {"run", "execute_code"},
    {"exec", "execute_code"},
    {"eval", "execute_code"},
    {"execute", "execute_code"},
    {"executecommand", "execute_code"},
    {"executepython", "execute_code"},
    {"executescript", "execute_code"},
    {"codeexecution", "execute_code"},
    {"codeinterpreter", "execute_code"},
    {"interpreter", "execute_code"},
    {"python", "execute_code"},
    {"python3", "execute_code"},
    {"javascript", "execute_code"},
    {"typescript", "execute_code"},
    {"node", "execute_code"},
    {"bash", "execute_code"},
    {"sh", "execute_code"},
    {"shell", "execute_code"},
    {"terminal", "execute_code"},
    {"sandbox", "execute_code"},
    {"read", "read_workspace_file"},
    {"readfile", "read_workspace_file"},
    {"readtextfile", "read_workspace_file"},
    {"cat", "read_workspace_file"},
    {"openfile", "read_workspace_file"},
    {"viewfile", "read_workspace_file"},
    {"getfile", "read_workspace_file"},
    {"downloadfile", "read_workspace_file"},
    {"write", "write_workspace_file"},
    {"writefile", "write_workspace_file"},
    {"createfile", "write_workspace_file"},
    {"savefile", "write_workspace_file"},
    {"uploadfile", "write_workspace_file"},
    {"editfile", "write_workspace_file"},
    {"ls", "list_workspace_files"},
    {"listfiles", "list_workspace_files"},
    {"listdir", "list_workspace_files"},
    {"listdirectory", "list_workspace_files"},
    {"directorytree", "list_workspace_files"},
    {"glob", "list_workspace_files"},
    {"rm", "delete_workspace_file"},
    {"deletefile", "delete_workspace_file"},
    {"removefile", "delete_workspace_file"},
    {"findtools", "search_tools"},
    {"searchtool", "search_tools"},
    {"toolsearch", "search_tools"},
    {"discovertools", "search_tools"},
    {"listtools", "search_tools"},
    {"describetool", "get_tool_definition"},
    {"gettoolschema", "get_tool_definition"},
    {"gettool", "get_tool_definition"},
    {"listcategories", "list_tool_categories"},
    {"runtool", "call_tool"},
    {"executetool", "call_tool"},
    {"invoketool", "call_tool"},
    {"usetool", "call_tool"},
    {"stats", "get_execution_stats"},
    {"getstats", "get_execution_stats"},
    {"createskill", "save_skill"},
    {"writeskill", "save_skill"},
    {"getskill", "load_skill"},
    {"readskill", "load_skill"},
    {"runskill", "load_skill"},
    {"searchskills", "list_skills"},
    {"removeskill", "delete_skill"},
    {"redactpii", "sanitize_pii"},
    {"maskpii", "sanitize_pii"},
    {"anonymize", "sanitize_pii"},
};

std::string squeezed(std::string_view name) {
  std::string plain;
  for (const char c : name)
    if (is_alnum(c)) plain += lower_case(c);
  return plain;
}

// Clients put a server's name before a tool's: mcp__warder__execute_code, warder.execute_code, warder:execute_code.
std::string_view without_server(std::string_view name) {
  for (const std::string_view between : {"__", ".", ":", "/"}) {
    if (const size_t at = name.rfind(between); at != name.npos && at + between.size() < name.size())
      name.remove_prefix(at + between.size());
  }
  for (const std::string_view server : {"warder_", "warder-"})
    if (name.starts_with(server)) name.remove_prefix(server.size());
  return name;
}

// The number of letters to change, to add, to leave out or to swap with the next letter.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  for (size_t j = 0; j <= b.size(); j++) last[j] = j;
  for (size_t i = 1; i <= a.size(); i++) {
    now[0] = i;
    for (size_t j = 1; j <= b.size(); j++) {
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) now[j] = std::min(now[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, now);
  }
  return last[b.size()];
}

}  // namespace

std::string_view nearest_tool(std::string_view name, const std::vector<std::string_view>& offered) {
  if (name.size() > kMaxName) return {};
  const std::string request = squeezed(without_server(name));
  if (request.empty()) return {};
  // server__tool is the name by which call_tool knows a tool of a server.
  const size_t between = name.find("__");
  if (between != name.npos && between > 0 && !name.starts_with("mcp__") && !name.starts_with("warder__")) {
    const auto call_tool = std::find(offered.begin(), offered.end(), "call_tool");
    if (call_tool != offered.end()) return *call_tool;
  }
  for (const auto& [other, tool] : kOtherNames) {
    if (request == other && std::find(offered.begin(), offered.end(), tool) != offered.end())
      return *std::find(offered.begin(), offered.end(), tool);
  }
  std::string_view nearest;
  size_t least = request.size() / 4 + 1;  // one letter in four may differ
  for (const std::string_view tool : offered) {
    const size_t changes = distance(request, squeezed(tool));
    if (changes <= least && (nearest.empty() || changes < least)) {
      least = changes;
      nearest = tool;
    }
  }
  return nearest;
}

}  // namespace tools
