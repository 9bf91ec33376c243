#include "supervisor/upstream/server_config.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "supervisor/base/ascii.h"
#include "supervisor/base/json/fields.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_file.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/log.h"
#include "supervisor/base/path.h"
#include "supervisor/protocol/http/client.h"
#include "supervisor/upstream/authorization/urls.h"

namespace upstream {
namespace {

constexpr size_t kMaxServers = 200;
constexpr size_t kMaxImport = 4 << 20;  // bytes; a client's file may hold its whole history

bool valid_server(std::string_view name) {
  return !name.empty() && name.size() <= 48 &&
         name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") == name.npos &&
         name.find("__") == name.npos;
}

// Replaces ${VAR}, ${env:VAR} and ${VAR:-else}, as MCP clients write them. Errors: invalid: the variable is not set.
Result<std::string> expanded(const std::string& text, const std::string& where) {
  std::string all;
  for (size_t i = 0; i < text.size();) {
    const size_t end = text.compare(i, 2, "${") == 0 ? text.find('}', i) : text.npos;
    if (end == text.npos) {
      all += text[i++];
      continue;
    }
    std::string name = text.substr(i + 2, end - i - 2), otherwise;
    if (name.starts_with("env:")) name.erase(0, 4);
    const size_t mark = name.find(":-");
    const bool has_otherwise = mark != name.npos;
    if (has_otherwise) {
      otherwise = name.substr(mark + 2);
      name.resize(mark);
    }
    const char* value = std::getenv(name.c_str());
    if (!value && !has_otherwise)
      return fail(Code::invalid,
                  fmt::format("{}: ${{{}}} is not set in the daemon's environment", where, printable(name, 64)),
                  "set the variable, or write its value into the configuration");
    all += value ? std::string(value) : otherwise;
    i = end + 1;
  }
  return all;
}

Result<std::map<std::string, std::string>> read_variables(const Json* object, const std::string& path) {
  std::map<std::string, std::string> all;
  if (!object) return all;
  if (!object->is_object() || object->size() > 100)
    return fail(Code::invalid, path + ": not an object of at most 100 variables");
  for (const auto& [name, value] : object->items()) {
    const std::string at = path + "." + printable(name, 64);
    if (name.empty() || name.find_first_of(std::string_view("=\0", 2)) != name.npos || !value.is_string() ||
        value.get_ref<const std::string&>().find('\0') != std::string::npos)
      return fail(Code::invalid, at + ": not a variable with a text");
    TRY(all[name], expanded(value.get<std::string>(), at));
  }
  return all;
}

Result<> read_command(Fields& in, ServerConfig& server) {
  TRY(std::string program, in.string("command"));
  TRY(std::vector<std::string> arguments, in.strings_or("args", {}));
  if (program.empty()) return fail(Code::invalid, in.path_of("command") + ": empty");
  server.command.push_back(std::move(program));
  server.command.insert(server.command.end(), arguments.begin(), arguments.end());
  for (auto& word : server.command) {
    TRY(word, expanded(word, in.path_of("args")));
    if (word.find('\0') != word.npos) return fail(Code::invalid, in.path_of("args") + ": contains a NUL");
  }
  TRY(server.environment, read_variables(in.find("env"), in.path_of("env")));
  return {};
}

Result<> check_oauth_url(Fields& in, const ServerConfig& server) {
  if (!server.socket.empty())
    return fail(Code::invalid, in.path_of("oauth") + ": a token is for a URL with http:// or https://");
  auto fits = oauth::check_endpoint(server.url, oauth::PlainHttp::loopback);
  if (fits) return {};
  return fail(Code::invalid, in.path_of("oauth") + ": a token is not sent over http, except to this machine",
              "use a URL with https://");
}

// Two texts for one header: which one is sent would not be clear.
Result<> check_authorization(Fields& in, const ServerConfig& server) {
  if (!server.oauth) return {};
  const auto is_authorization = [](const auto& item) { return is_same_word(item.first, "authorization"); };
  for (const char* key : {"headers", "secrets"}) {
    const auto& all = key[0] == 'h' ? server.headers : server.secrets;
    if (std::any_of(all.begin(), all.end(), is_authorization))
      return fail(Code::invalid, in.path_of(key) + ": has Authorization, and `oauth` makes that header",
                  "leave one of them out");
  }
  return {};
}

// "unix:///run/server.sock#/mcp", as VS Code writes it, means the path /mcp at that socket.
Result<> read_address(Fields& in, ServerConfig& server) {
  CHECKED(in.one_of("type", {"http", "streamable-http", "streamableHttp"}, "http"));
  TRY(server.url, in.string("url"));
  TRY(server.url, expanded(server.url, in.path_of("url")));
  constexpr std::string_view kSocket = "unix://";
  if (server.url.starts_with(kSocket)) {
    const size_t mark = std::min(server.url.find('#'), server.url.size());
    server.socket = server.url.substr(kSocket.size(), mark - kSocket.size());
    if (!server.socket.starts_with('/') || server.socket.size() > 107)
      return fail(Code::invalid, in.path_of("url") + ": not the absolute path of a socket, of at most 107 bytes");
    server.url = "http://localhost" + (mark < server.url.size() ? server.url.substr(mark + 1) : "/");
  }
  auto url = http::parse_url(server.url);
  if (!url) return tl::unexpected<Error>(std::move(url).error().within(in.path_of("url")));
  TRY(server.headers, read_variables(in.find("headers"), in.path_of("headers")));
  for (const auto& [name, value] : server.headers) {
    auto fits = http::check_header(name, value);
    if (!fits) return tl::unexpected<Error>(std::move(fits).error().within(in.path_of("headers")));
  }
  TRY(server.authorities, in.string_or("authorities", ""));
  if (const Json* oauth = in.find("oauth")) {
    TRY(server.oauth, oauth::read_settings(*oauth, in.path_of("oauth")));
    CHECKED(check_oauth_url(in, server));
  }
  return {};
}

Result<ServerConfig::ServerHost> read_position(Fields& in) {
  const auto location = in.one_of("jail", {"default", "none"}, "default");
  if (!location) return tl::unexpected<Error>(location.error());
  return *location == "none" ? ServerConfig::ServerHost::outside : ServerConfig::ServerHost::jail;
}

// The limits of a server in a jail that are its own, because it works for many calls.
Result<> read_limits(Fields& in, ServerConfig& server) {
  for (const char* key : {"processes", "memory_mb"})
    if (in.has(key) && server.location == ServerConfig::ServerHost::outside)
      return fail(Code::invalid, in.path_of(key) + ": a server outside of jails has no limits",
                  fmt::format("leave out `{}`, or `jail`", key));
  TRY(const int64_t processes, in.integer_or("processes", 1, 32'768, 0));
  TRY(const int64_t megabytes, in.integer_or("memory_mb", 16, 1 << 20, 0));
  server.processes = static_cast<uint32_t>(processes);
  server.memory_bytes = static_cast<uint64_t>(megabytes) << 20;
  return {};
}

// The hosts of a server in a jail. A person cannot be asked: a server also works between the calls of its clients.
Result<> read_egress(Fields& in, ServerConfig& server) {
  const Json* object = in.find("egress");
  if (!object) return {};
  if (server.location == ServerConfig::ServerHost::outside)
    return fail(Code::invalid, in.path_of("egress") + ": a server outside of jails has the daemon's network",
                "leave out `egress`, or `jail`");
  std::vector<Error> problems;
  server.egress = policies::read_egress_rules(*object, problems, in.path_of("egress"));
  if (!problems.empty()) return tl::unexpected<Error>(problems.front());
  for (size_t i = 0; i < server.egress.rules.size(); i++)
    if (server.egress.rules[i].verdict == policies::Verdict::ask)
      return fail(Code::invalid,
                  fmt::format("{}.rules[{}].verdict: a server has no person to ask", in.path_of("egress"), i),
                  "allow or deny");
  return {};
}

Result<ServerConfig> read_server(const std::string& name, const Json& object, const std::string& path) {
  ServerConfig server;
  server.name = name;
  if (!valid_server(name))
    return fail(Code::invalid, path + ": a name is 1 to 48 of A-Z, a-z, 0-9, _ and -, without \"__\"");
  Fields in(object, path);
  bool open_to_code = false;
  if (in.find("url")) {
    CHECKED(read_address(in, server));
  } else {
    CHECKED(read_command(in, server));
    TRY(server.folder, in.string_or("folder", ""));
    TRY(open_to_code, in.boolean_or("secrets_open_to_code", false));
    TRY(server.location, read_position(in));
    CHECKED(read_limits(in, server));
    CHECKED(read_egress(in, server));
  }
  TRY(server.secrets, read_variables(in.find("secrets"), in.path_of("secrets")));
  CHECKED(check_authorization(in, server));
  TRY(std::string share, in.one_of("share", {"tenant", "everybody"}, "tenant"));
  if (share == "everybody") server.sharing = ServerConfig::Sharing::all_users;
  TRY(server.observe, in.boolean_or("observe", true));
  auto seconds = [&in](const char* key, int64_t max, std::chrono::milliseconds& value) -> Result<> {
    TRY(int64_t read, in.integer_or(key, 1, max, value.count() / 1000));
    value = std::chrono::seconds(read);
    return {};
  };
  CHECKED(seconds("idle_s", 7 * 24 * 3600, server.idle));
  CHECKED(seconds("timeout_s", 3600, server.timeout));
  CHECKED(seconds("start_s", 600, server.start));
  CHECKED(in.done());
  if (server.folder == "workspace") {
    server.folder.clear();
    server.tenants_folder = true;
    server.observe = false;  // other tenants must not see the form of one tenant's files
    if (server.sharing == ServerConfig::Sharing::all_users)
      return fail(Code::invalid, path + ".folder: one shared process cannot have the workspace of each tenant",
                  "leave out `share`, or name a folder");
    if (server.location == ServerConfig::ServerHost::outside)
      return fail(Code::invalid, path + ".folder: a tenant's workspace is only given to a server in a jail",
                  "leave out `jail`, or name a folder");
  } else if (!server.folder.empty() && server.folder.front() != '/') {
    return fail(Code::invalid, path + ".folder: neither an absolute path nor \"workspace\"");
  }
  if (server.tenants_folder && !server.secrets.empty() && !open_to_code)
    return fail(Code::invalid,
                path +
                    ".secrets: the server starts in the tenant's workspace, where code can write a file that "
                    "the server loads, and so steal its secrets",
                "name another folder, or set \"secrets_open_to_code\": true");
  for (const auto& [variable, file] : server.secrets)
    if (!file.starts_with('/'))
      return fail(Code::invalid, fmt::format("{}.secrets.{}: not the absolute path of a file", path, variable),
                  "write the secret to a file, and its path here: the configuration must not contain secrets");
  for (const auto& [header, file] : server.secrets)
    if (server.remote() && !http::check_header(header, ""))
      return fail(Code::invalid, fmt::format("{}.secrets: '{}' is not a header name", path, printable(header, 64)));
  return server;
}

Result<std::string> read_client_file(const std::string& file) {
  Fd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return fail_errno(errno, "open " + file, Code::invalid);
  auto text = read_complete(fd.get(), kMaxImport);
  if (!text) return tl::unexpected(std::move(text).error().within(file));
  return text;
}

std::string with_remedy(const Error& error) { return error.what + (error.hint.empty() ? "" : " (" + error.hint + ")"); }

// Client files hold much more than servers: unknown keys are ignored.
Result<std::vector<ServerConfig>> read_client(const Json& document, const std::string& where,
                                              ServerConfig::ServerHost location, std::vector<std::string>& skipped) {
  auto it = document.find("mcpServers");
  if (it == document.end()) it = document.find("servers");
  if (!document.is_object() || it == document.end() || !it->is_object())
    return fail(Code::invalid, where + ": has neither `mcpServers` nor `servers`",
                "name a file of Claude Code, Claude Desktop, Cursor or VS Code");
  std::vector<ServerConfig> servers;
  for (const auto& [name, entry] : it->items()) {
    const Json type = entry.is_object() ? entry.value("type", Json()) : Json();
    const bool remote = entry.is_object() && entry.contains("url") && !entry.contains("command");
    const std::string at = where + ": server '" + printable(name, 64) + "' is skipped: ";
    if (!entry.is_object() || (!remote && !entry.contains("command")) || (remote && (type == "sse" || type == "ws"))) {
      skipped.push_back(at + "it neither has a command nor speaks Streamable HTTP");
      continue;
    }
    Json existing = Json::object();
    for (const char* key : {"command", "args", "env", "url", "headers"})
      if (entry.contains(key) && remote == (key[0] == 'u' || key[0] == 'h')) existing[key] = entry[key];
    if (!remote) {
      existing["jail"] = location == ServerConfig::ServerHost::outside ? "none" : "default";
      const Json folder = entry.value("cwd", Json());
      if (folder.is_string() && folder.get_ref<const std::string&>().starts_with('/')) existing["folder"] = folder;
    }
    auto server = read_server(name, existing, printable(name, 64));
    if (!server) {
      skipped.push_back(at + with_remedy(server.error()));
      continue;
    }
    servers.push_back(*std::move(server));
  }
  return servers;
}

// The servers of one imported file.
Result<std::vector<ServerConfig>> read_import(const std::string& file, ServerConfig::ServerHost location,
                                              std::vector<std::string>& skipped) {
  TRY(const std::string text, read_client_file(file));
  auto document = parse_json(text);
  if (!document) document = parse_json_file(text);  // the same error, with line and column
  if (!document) return tl::unexpected(std::move(document).error().within(file));
  return read_client(*document, file, location, skipped);
}

}  // namespace

Result<std::vector<ServerConfig>> read_servers(const Json& object, const std::string& path) {
  if (!object.is_object() || object.size() > kMaxServers)
    return fail(Code::invalid, fmt::format("{}: not an object of at most {} servers", path, kMaxServers));
  std::vector<ServerConfig> servers;
  for (const auto& [name, entry] : object.items()) {
    TRY(ServerConfig server, read_server(name, entry, path + "." + printable(name, 64)));
    servers.push_back(std::move(server));
  }
  return servers;
}

Result<std::vector<ServerConfig>> read_imports(const Json& list, const std::string& path, ImportNotes& notes) {
  if (!list.is_array() || list.size() > kMaxServers) return fail(Code::invalid, path + ": not a list of files");
  std::vector<ServerConfig> all;
  for (size_t i = 0; i < list.size(); i++) {
    const std::string where = fmt::format("{}[{}]", path, i);
    Fields in(list[i], where);
    TRY(std::string file, in.string("file"));
    TRY(ServerConfig::ServerHost location, read_position(in));
    CHECKED(in.done());
    auto servers = read_import(file, location, notes.skipped);
    if (!servers) {
      notes.skipped.push_back(where + " is skipped: " + with_remedy(servers.error()));
      if (servers.error().err == EACCES) notes.unreadable.push_back(file);
      continue;
    }
    for (auto& server : *servers) server.imported_from = file;
    std::move(servers->begin(), servers->end(), std::back_inserter(all));
  }
  return all;
}

Result<> check_names(const std::vector<ServerConfig>& servers) {
  std::set<std::string> names;
  for (const auto& server : servers)
    if (!names.insert(server.name).second)
      return fail(Code::invalid, fmt::format("two servers are named '{}'", server.name),
                  "rename a server in `servers`, or remove it from the imported file");
  if (servers.size() > kMaxServers) return fail(Code::invalid, fmt::format("more than {} servers", kMaxServers));
  return {};
}

}  // namespace upstream
