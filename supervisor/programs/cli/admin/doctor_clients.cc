// Checks the user's MCP clients: whether their configuration names Warder, and whether the named program exists.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "supervisor/base/json/json.h"
#include "supervisor/programs/cli/admin/doctor.h"
#include "supervisor/programs/cli/admin/values.h"

namespace admin {
namespace {

namespace fs = std::filesystem;
using doctor::Finding;
using doctor::Findings;
using doctor::Health;

constexpr size_t kMaxBytes = 8 << 20;

enum class Below { home, project };

struct ClientFile {
  const char* client;  // as in `warder config CLIENT`
  Below below;
  const char* file;
  const char* key;  // of the object of servers; nullptr: the file is no plain JSON, and is searched for "warder"
};
constexpr ClientFile kFiles[] = {
    {"claude-code", Below::home, ".claude.json", "mcpServers"},
    {"claude-code", Below::project, ".mcp.json", "mcpServers"},
    {"claude-desktop", Below::home, ".config/Claude/claude_desktop_config.json", "mcpServers"},
    {"cursor", Below::home, ".cursor/mcp.json", "mcpServers"},
    {"gemini", Below::home, ".gemini/settings.json", "mcpServers"},
    {"zed", Below::home, ".config/zed/settings.json", nullptr},  // JSON with comments
    {"zed", Below::project, ".zed/settings.json", nullptr},
    {"windsurf", Below::home, ".codeium/windsurf/mcp_config.json", "mcpServers"},
    {"opencode", Below::home, ".config/opencode/opencode.json", "mcp"},
    {"opencode", Below::project, "opencode.json", "mcp"},
    {"cline", Below::home, ".config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
     "mcpServers"},
    {"amp", Below::home, ".config/amp/settings.json", "amp.mcpServers"},
    {"amp", Below::project, ".amp/settings.json", "amp.mcpServers"},
    {"vscode", Below::home, ".config/Code/User/mcp.json", "servers"},
    {"vscode", Below::project, ".vscode/mcp.json", "servers"},
    {"codex", Below::home, ".codex/config.toml", nullptr},
    {"goose", Below::home, ".config/goose/config.yaml", nullptr},
};

bool exists_on_path(const std::string& command) {
  if (command.find('/') != command.npos) return ::access(command.c_str(), X_OK) == 0;
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (::access((folder + "/" + command).c_str(), X_OK) == 0) return true;
  return false;
}

// The program of an entry. opencode has the program and its arguments in one list.
std::string command_of(const Json& entry) {
  const Json& command = member(entry, "command");
  const bool listed = command.is_array() && !command.empty() && command[0].is_string();
  return listed ? command[0].get<std::string>() : text(entry, "command");
}

// The entry with the name "warder" or the program "warder"; nullptr: no entry is like that.
const Json* entry_in(const Json& servers) {
  if (!servers.is_object()) return nullptr;
  for (const auto& [name, entry] : servers.items())
    if (name == "warder" || fs::path(command_of(entry)).filename() == "warder") return &entry;
  return entry_in(member(servers, "servers"));  // the form of opencode 2
}

const Json* find_entry(const Json& document, const char* key) {
  if (const Json* entry = entry_in(member(document, key))) return entry;
  const Json& projects = member(document, "projects");  // Claude Code's servers for one folder
  if (!projects.is_object()) return nullptr;
  for (const auto& project : projects)
    if (const Json* entry = entry_in(member(project, key))) return entry;
  return nullptr;
}

Finding judge(const ClientFile& file, const std::string& path) {
  const std::string subject = file.client, connect = fmt::format("warder config {}", file.client);
  std::error_code error;
  if (fs::file_size(path, error) > kMaxBytes || error)
    return {subject, Health::note, path + " cannot be read", connect + " prints the entry for it"};
  std::ifstream in(path);
  std::stringstream all;
  all << in.rdbuf();
  if (!file.key) {
    if (all.str().find("warder") != std::string::npos) return {subject, Health::good, path + " names warder", {}};
    return {subject, Health::note, path + " does not name warder", connect};
  }
  const auto parsed = parse_json(all.str());
  if (!parsed)
    return {subject, Health::note, path + ": " + parsed.error().what,
            "correct the file; the client cannot read it either"};
  const Json* entry = find_entry(*parsed, file.key);
  if (!entry) return {subject, Health::note, path + " does not name warder", connect};
  const std::string command = command_of(*entry);
  if (command.empty()) return {subject, Health::bad, path + ": the entry has no command", connect};
  if (!exists_on_path(command))
    return {subject, Health::bad, fmt::format("{}: there is no program {}", path, command), connect};
  return {subject, Health::good, path + " starts " + command, {}};
}

}  // namespace

Findings look_at_clients(const std::string& home, const std::string& project) {
  Findings findings;
  for (const ClientFile& file : kFiles) {
    const std::string& folder = file.below == Below::home ? home : project;
    if (folder.empty()) continue;
    const std::string path = folder == "." ? file.file : folder + "/" + file.file;
    std::error_code error;
    if (fs::is_regular_file(path, error)) findings.push_back(judge(file, path));
  }
  return findings;
}

}  // namespace admin
