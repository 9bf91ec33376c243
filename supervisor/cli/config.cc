#include "supervisor/cli/config.h"

#include <nlohmann/json.hpp>

#include "supervisor/base/json.h"

namespace cli {
namespace {

using json = nlohmann::ordered_json;

// A program may run for as long as its policy lets it; a client that stops waiting sooner only loses the answer.
constexpr int kCallSeconds = 600;

json command(const std::string& program, const json& args) { return {{"command", program}, {"args", args}}; }

std::string pretty(const json& entry) { return entry.dump(2, ' ', false, json::error_handler_t::replace) + "\n"; }

std::string toml(const std::string& program, const json& args) {  // a JSON string is a TOML basic string
  return "[mcp_servers.warder]\ncommand = " + dump_json(json(program)) + "\nargs = " + dump_json(args) +
         "\ntool_timeout_sec = " + std::to_string(kCallSeconds) + "\n";
}

std::string yaml(const std::string& program, const json& args) {  // and a YAML double-quoted scalar
  return "extensions:\n  warder:\n    enabled: true\n    type: stdio\n    name: warder\n    cmd: " +
         dump_json(json(program)) + "\n    args: " + dump_json(args) +
         "\n    envs: {}\n    timeout: " + std::to_string(kCallSeconds) + "\n";
}

}  // namespace

const std::vector<ClientConfig>& known_clients() {
  static const std::vector<ClientConfig> clients = {
      {"claude-code", ConfigFormat::json,
       "paste into .mcp.json of the project, or run: claude mcp add warder -- {command}"},
      {"claude-desktop", ConfigFormat::json,
       "paste into claude_desktop_config.json (Settings, Developer, Edit Config), then restart Claude Desktop"},
      {"vscode", ConfigFormat::json,
       "paste into .vscode/mcp.json of the workspace, or run: MCP: Open User Configuration"},
      {"cursor", ConfigFormat::json, "paste into ~/.cursor/mcp.json, or .cursor/mcp.json of the project"},
      {"codex", ConfigFormat::toml, "append to ~/.codex/config.toml, or run: codex mcp add warder -- {command}"},
      {"goose", ConfigFormat::yaml, "merge into ~/.config/goose/config.yaml"},
      {"gemini", ConfigFormat::json, "merge into ~/.gemini/settings.json"},
      {"inspector", ConfigFormat::json,
       "save as warder.json, then run: npx @modelcontextprotocol/inspector --cli --config warder.json --server warder "
       "--method tools/list"},
      {"generic", ConfigFormat::json, "for any client that starts a stdio server: {command}"},
  };
  return clients;
}

Result<ConfigEntry> client_config(std::string_view client, const std::string& program, const SocketPath& socket) {
  const ClientConfig* found = nullptr;
  std::string names;
  for (const auto& known : known_clients()) {
    if (known.name == client) found = &known;
    names += (names.empty() ? "" : ", ") + std::string(known.name);
  }
  if (!found)
    return fail(Code::not_found, "no client is called '" + std::string(client) + "'", "known clients: " + names);

  json args = {"mcp"};
  std::string line = program + " mcp";
  if (socket.source == SocketSource::asked) {
    args.insert(args.end(), {"--socket", socket.path});
    line += " --socket " + socket.path;
  }
  json entry = command(program, args);
  ConfigEntry out{{}, std::string(found->where)};
  if (const size_t at = out.where.find("{command}"); at != std::string::npos) out.where.replace(at, 9, line);

  if (client == "codex") {
    out.text = toml(program, args);
  } else if (client == "goose") {
    out.text = yaml(program, args);
  } else if (client == "vscode") {
    json typed = {{"type", "stdio"}};
    typed.update(entry);
    out.text = pretty({{"servers", {{"warder", std::move(typed)}}}});
  } else if (client == "generic") {
    out.text = pretty(entry);
  } else {
    if (client == "claude-code" || client == "inspector" || client == "cursor") {
      json typed = {{"type", "stdio"}};
      typed.update(entry);
      entry = std::move(typed);
    }
    if (client == "gemini") entry["timeout"] = kCallSeconds * 1000;
    out.text = pretty({{"mcpServers", {{"warder", std::move(entry)}}}});
  }
  return out;
}

}  // namespace cli
