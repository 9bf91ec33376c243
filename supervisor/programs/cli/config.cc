#include "supervisor/programs/cli/config.h"

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/programs/cli/indented_json.h"

namespace cli {
namespace {

// A program may run for as long as its policy lets it; a client that stops waiting sooner only loses the answer.
constexpr int kCallSeconds = 600;

Json command(const std::string& program, const Json& args) { return {{"command", program}, {"args", args}}; }

std::string toml(const std::string& program, const Json& args) {  // a JSON string is a TOML basic string
  return "[mcp_servers.warder]\ncommand = " + dump_json(Json(program)) + "\nargs = " + dump_json(args) +
         "\ntool_timeout_sec = " + std::to_string(kCallSeconds) + "\n";
}

std::string yaml(const std::string& program, const Json& args) {  // a JSON string is a YAML double-quoted scalar
  return "extensions:\n  warder:\n    enabled: true\n    type: stdio\n    name: warder\n    cmd: " +
         dump_json(Json(program)) + "\n    args: " + dump_json(args) +
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
      {"zed", ConfigFormat::json, "merge into ~/.config/zed/settings.json, or .zed/settings.json of the project"},
      {"windsurf", ConfigFormat::json, "merge into ~/.codeium/windsurf/mcp_config.json"},
      {"opencode", ConfigFormat::json,
       "merge into ~/.config/opencode/opencode.json, or opencode.json of the project (version 2 wants the entry of mcp "
       "below mcp.servers)"},
      {"cline", ConfigFormat::json,
       "merge into cline_mcp_settings.json (MCP Servers, Configure, Configure MCP Servers)"},
      {"amp", ConfigFormat::json, "merge into ~/.config/amp/settings.json, or .amp/settings.json of the project"},
      {"inspector", ConfigFormat::json,
       "save as warder.json, then run: npx @modelcontextprotocol/inspector --cli --config warder.json --server warder "
       "--method tools/list"},
      {"generic", ConfigFormat::json, "for any client that starts a stdio server: {command}"},
  };
  return clients;
}

Result<ConfigEntry> client_config(std::string_view client, const std::string& program, const SocketPath& socket) {
  const ClientConfig* config = nullptr;
  std::string names;
  for (const auto& known_client : known_clients()) {
    if (known_client.name == client) config = &known_client;
    names += (names.empty() ? "" : ", ") + std::string(known_client.name);
  }
  if (!config)
    return fail(Code::not_found, "no client is called '" + std::string(client) + "'", "known clients: " + names);

  Json args = {"mcp"};
  std::string line = program + " mcp";
  if (socket.source == SocketSource::requested) {
    args.insert(args.end(), {"--socket", socket.path});
    line += " --socket " + socket.path;
  }
  Json entry = command(program, args);
  ConfigEntry out{{}, std::string(config->where)};
  if (const size_t at = out.where.find("{command}"); at != std::string::npos) out.where.replace(at, 9, line);

  if (client == "codex") {
    out.text = toml(program, args);
  } else if (client == "goose") {
    out.text = yaml(program, args);
  } else if (client == "vscode") {
    Json typed = {{"type", "stdio"}};
    typed.update(entry);
    out.text = indented_json({{"servers", {{"warder", std::move(typed)}}}});
  } else if (client == "zed") {
    entry["timeout"] = kCallSeconds;
    out.text = indented_json({{"context_servers", {{"warder", std::move(entry)}}}});
  } else if (client == "opencode") {
    args.insert(args.begin(), program);
    Json local = {{"type", "local"}, {"command", std::move(args)}, {"enabled", true}};
    out.text = indented_json({{"mcp", {{"warder", std::move(local)}}}});
  } else if (client == "amp") {
    out.text = indented_json({{"amp.mcpServers", {{"warder", std::move(entry)}}}});
  } else if (client == "generic") {
    out.text = indented_json(entry);
  } else {
    if (client == "claude-code" || client == "inspector" || client == "cursor") {
      Json typed = {{"type", "stdio"}};
      typed.update(entry);
      entry = std::move(typed);
    }
    if (client == "gemini") entry["timeout"] = kCallSeconds * 1000;
    if (client == "cline") entry["timeout"] = kCallSeconds;
    out.text = indented_json({{"mcpServers", {{"warder", std::move(entry)}}}});
  }
  return out;
}

Result<ConfigEntry> http_client_config(std::string_view client, const std::string& url) {
  const bool is_url = url.starts_with("http://") || url.starts_with("https://");
  if (!is_url || url.find_first_of(" \t\n\"\\") != url.npos)
    return fail(Code::invalid, "--http: not a URL", "for example --http http://127.0.0.1:9470/mcp");
  const auto with_token = [&url](const char* type, const char* token) {
    Json entry = Json::object();
    if (type) entry["type"] = type;
    entry["url"] = url;
    entry["headers"] = {{"Authorization", std::string("Bearer ") + token}};
    return entry;
  };
  const std::string variable = "; the variable WARDER_TOKEN has the token: warder token add NAME makes one";
  if (client == "claude-code")
    return ConfigEntry{indented_json({{"mcpServers", {{"warder", with_token("http", "${WARDER_TOKEN}")}}}}),
                       "paste into .mcp.json of the project" + variable};
  if (client == "cursor")
    return ConfigEntry{indented_json({{"mcpServers", {{"warder", with_token(nullptr, "${env:WARDER_TOKEN}")}}}}),
                       "paste into ~/.cursor/mcp.json, or .cursor/mcp.json of the project" + variable};
  if (client == "vscode") {
    const Json input = {{"type", "promptString"},
                        {"id", "warder-token"},
                        {"description", "The token of Warder (warder token add)"},
                        {"password", true}};
    return ConfigEntry{indented_json({{"inputs", Json::array({input})},
                                      {"servers", {{"warder", with_token("http", "${input:warder-token}")}}}}),
                       "paste into .vscode/mcp.json of the workspace; VS Code asks for the token once, and stores it"};
  }
  if (client == "inspector" || client == "generic")
    return ConfigEntry{indented_json({{"mcpServers", {{"warder", with_token("streamable-http", "TOKEN")}}}}),
                       "put the token of warder token add in the place of TOKEN, in a file that only you can read"};
  return fail(Code::invalid, "the entry of '" + std::string(client) + "' for HTTP is not known",
              "known for HTTP: claude-code, vscode, cursor, inspector, generic; or leave out --http");
}

}  // namespace cli
