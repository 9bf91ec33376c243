#include "supervisor/programs/cli/servers/client_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "supervisor/base/ascii.h"
#include "supervisor/base/fd.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_members.h"
#include "supervisor/base/log.h"
#include "supervisor/base/path.h"

namespace admin {
namespace {

constexpr size_t kMaxClientFile = 16 << 20;  // bytes; Claude Code's file holds its history
constexpr size_t kMaxClientServers = 1000;

const Json kNoObject = Json::object();

const Json& object_in(const Json& of, const char* key) {
  if (!of.is_object()) return kNoObject;
  const auto it = of.find(key);
  return it != of.end() && it->is_object() ? *it : kNoObject;
}

// A name that warderd allows, from any text.
std::string allowed_name_of(const std::string& text) {
  std::string name;
  for (const char c : text.substr(0, 48)) {
    const bool plain = is_word(c) || c == '-';
    const char next = plain ? c : '-';
    if (next == '_' && name.ends_with('_')) continue;
    if (next == '-' && name.ends_with('-')) continue;
    name += next;
  }
  return name.empty() ? "server" : name;
}

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// A word of a command line that a person may copy into a shell: no character of it acts there.
std::string shell_word(const std::string& text) {
  const std::string display_text = printable(text, 200);
  constexpr char kPlain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@%+=,";
  if (!display_text.empty() && display_text.find_first_not_of(kPlain) == display_text.npos) return display_text;
  std::string quoted = "'";
  for (const char c : display_text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string folder_of(const std::string& path) { return std::filesystem::path(path).parent_path().string(); }

bool is_below_usr(const std::string& real) { return real.starts_with("/usr/"); }

class EntryReader {
 public:
  EntryReader(const Json& params, const ImportSurroundings& surroundings)
      : config_(params), surroundings_(surroundings) {}

  ClientServer read(const std::string& name, const std::string& from) {
    server_.name = allowed_name_of(name);
    server_.from = from;
    server_.entry = Json::object();
    if (server_.name != name) server_.notes.push_back(fmt::format("its name was '{}'", printable(name, 64)));
    if (config_.contains("command")) {
      read_command();
    } else if (config_.contains("url")) {
      read_url();
    } else {
      server_.obstacles.push_back("it has neither a command nor a URL");
    }
    return std::move(server_);
  }

 private:
  void obstacle(std::string text) { server_.obstacles.push_back(std::move(text)); }

  // Replaces ${VAR}, ${env:VAR} and ${VAR:-else} by the user's variables.
  std::string expanded(const std::string& text) {
    std::string all;
    for (size_t i = 0; i < text.size();) {
      const size_t end = text.compare(i, 2, "${") == 0 ? text.find('}', i) : text.npos;
      if (end == text.npos) {
        all += text[i++];
        continue;
      }
      all += value_of(text.substr(i + 2, end - i - 2));
      i = end + 1;
    }
    // The daemon would replace it again, by its own variables.
    if (all.find("${") != all.npos)
      obstacle("a value has ${ in it after its variables were replaced: write the value itself");
    return all;
  }

  std::string value_of(std::string name) {
    if (name.starts_with("input:")) {
      obstacle(
          fmt::format("VS Code asks for ${{{}}}: add it with its value: warder servers add ... --env KEY=VALUE, or "
                      "--secret KEY=FILE",
                      printable(name, 64)));
      return {};
    }
    if (name.starts_with("env:")) name.erase(0, 4);
    std::string otherwise;
    const size_t mark = name.find(":-");
    if (mark != name.npos) {
      otherwise = name.substr(mark + 2);
      name.resize(mark);
    }
    bool is_set = false;
    std::string value = surroundings_.variable(name, is_set);
    if (is_set) return value;
    if (mark == name.npos)
      obstacle("${" + printable(name, 64) +
               (surroundings_.own_file ? "} is not set: set the variable, and import again"
                                       : "} is a variable of the user who has the file: import it as that user"));
    return otherwise;
  }

  void read_pairs(const char* from, const char* to) {
    for (const auto& [key, value] : object_in(config_, from).items()) {
      if (value.is_string()) {
        server_.entry[to][key] = expanded(value.get<std::string>());
      } else if (value.is_number() || value.is_boolean()) {
        server_.entry[to][key] = dump_json(value);
      } else {
        obstacle(fmt::format("{}.{} is not a text", from, printable(key, 64)));
      }
    }
  }

  void read_url() {
    const std::string type = text_member(config_, "type");
    if (type == "sse" || type == "ws")
      obstacle("it speaks " + type + ", and Warder only Streamable HTTP: ask for its newer URL");
    server_.entry["url"] = expanded(text_member(config_, "url"));
    read_pairs("headers", "headers");
    server_.notes.push_back("it needs a network of the service: warder servers add NAME URL --open-network");
  }

  void read_command() {
    const std::string command = expanded(text_member(config_, "command"));
    std::vector<std::string> arguments;
    const auto list = config_.find("args");
    if (list != config_.end() && list->is_array())
      for (const Json& word : *list) {
        if (word.is_string()) {
          arguments.push_back(expanded(word.get<std::string>()));
        } else {
          obstacle("args has a value that is not a text");
        }
      }
    read_pairs("env", "env");
    server_.entry["command"] = command;
    if (!arguments.empty()) server_.entry["args"] = arguments;
    if (judge_fetcher(command, arguments)) return;
    const std::string real = surroundings_.real_path(command);
    if (real.empty()) {
      obstacle(fmt::format("the program {} does not exist here", printable(command, 200)));
    } else if (!is_below_usr(real)) {
      obstacle(fmt::format("the program {} is not below /usr, and a jail shows nothing else: warder servers install {}",
                           printable(real, 200), shell_word(folder_of(real))));
    }
    for (const auto& word : arguments) judge_path(word);
    if (const std::string folder = text_member(config_, "cwd"); !folder.empty())
      server_.notes.push_back(
          fmt::format("its folder {} was left out: it gets a private folder, /workspace; --folder names "
                      "another",
                      printable(folder, 200)));
  }

  // Programs that fetch a server at each start. A jail has no network, and no home for their cache.
  bool judge_fetcher(const std::string& command, const std::vector<std::string>& arguments) {
    const std::string program = base_name(command);
    if (program == "docker" || program == "podman") {
      obstacle(program + " needs its own daemon or user, which a jail does not show: run the server's program itself");
      return true;
    }
    if (program == "uvx" || program == "pipx" || program == "uv") {
      obstacle(program +
               " fetches the server at each start, and a jail has no network: install its package below /usr "
               "(for example in a folder: python3 -m venv /usr/local/lib/NAME), and add its command");
      return true;
    }
    const bool npm = program == "npx" || (program == "npm" && !arguments.empty() && arguments[0] == "exec");
    if (!npm && program != "bunx" && program != "pnpx") return false;
    obstacle(program + " fetches the server at each start, and a jail has no network: " + install_line(arguments, npm));
    return true;
  }

  std::string install_line(const std::vector<std::string>& arguments, bool npm) {
    size_t at = npm && !arguments.empty() && arguments[0] == "exec" ? 1 : 0;
    while (at < arguments.size() && arguments[at].starts_with('-') && arguments[at] != "-p" &&
           !arguments[at].starts_with("--package"))
      at++;
    if (at + 1 < arguments.size() && (arguments[at] == "-p" || arguments[at] == "--package")) at++;
    if (at >= arguments.size()) return "warder servers install npm:PACKAGE";
    std::string line =
        fmt::format("warder servers install {} --name {}", shell_word("npm:" + arguments[at]), server_.name);
    for (const auto& [key, value] : object_in(server_.entry, "env").items())
      line += " --env " + shell_word(key + "=...");
    for (size_t i = at + 1; i < arguments.size(); i++) line += (i == at + 1 ? " -- " : " ") + shell_word(arguments[i]);
    return line;
  }

  // Absolute paths among the arguments: scripts and folders of data.
  void judge_path(const std::string& word) {
    if (!word.starts_with('/')) return;
    const std::string real = surroundings_.real_path(word);
    if (real.empty() || is_below_usr(real)) return;
    std::error_code error;
    if (std::filesystem::is_regular_file(real, error)) {
      obstacle(fmt::format("a jail does not show {}: warder servers install {} --run {}", printable(real, 200),
                           shell_word(folder_of(real)), shell_word(base_name(real))));
    } else {
      obstacle(fmt::format("a jail does not show {}: add it with --folder {}, and /workspace in the place of the path",
                           printable(real, 200), shell_word(real)));
    }
  }

  const Json& config_;
  const ImportSurroundings& surroundings_;
  ClientServer server_;
};

void read_all(const Json& servers, const std::string& from, const ImportSurroundings& surroundings,
              std::vector<ClientServer>& all) {
  for (const auto& [name, entry] : servers.items()) {
    if (!entry.is_object() || entry.value("disabled", Json()) == true || all.size() > kMaxClientServers) continue;
    all.push_back(EntryReader(entry, surroundings).read(name, from));
  }
}

}  // namespace

ImportSurroundings ImportSurroundings::here(uid_t owner) {
  ImportSurroundings here;
  // What root's variables hold is no other user's business.
  here.own_file = owner == ::geteuid();
  here.variable = [own = here.own_file](const std::string& name, bool& is_set) {
    const char* value = own ? std::getenv(name.c_str()) : nullptr;
    is_set = value != nullptr;
    return std::string(value ? value : "");
  };
  here.real_path = [](const std::string& path) -> std::string {
    std::error_code error;
    if (path.find('/') != path.npos) {
      const auto real = std::filesystem::canonical(path, error);
      return error ? "" : real.string();
    }
    for (const char* folder : {"/usr/local/bin/", "/usr/bin/", "/bin/"}) {  // PATH of jails
      const auto real = std::filesystem::canonical(folder + path, error);
      if (!error) return real;
    }
    return {};
  };
  return here;
}

Result<std::vector<ClientServer>> read_client_servers(std::string_view text, const ImportSurroundings& surroundings) {
  auto document = parse_json(text);
  if (!document) document = parse_json(without_comments(text));
  if (!document) return tl::unexpected<Error>(std::move(document).error());
  std::vector<ClientServer> all;
  read_all(object_in(*document, "mcpServers"), "", surroundings, all);
  read_all(object_in(*document, "servers"), "", surroundings, all);
  read_all(object_in(object_in(*document, "mcp"), "servers"), "", surroundings, all);
  for (const auto& [project, settings] : object_in(*document, "projects").items())
    read_all(object_in(settings, "mcpServers"), project, surroundings, all);
  const bool has_servers =
      document->is_object() && (document->contains("mcpServers") || document->contains("servers") ||
                                document->contains("mcp") || document->contains("projects"));
  if (all.size() > kMaxClientServers)
    return fail(Code::exhausted, fmt::format("it has more than {} servers", kMaxClientServers),
                "copy those to add into a file of its own, below `mcpServers`");
  if (!has_servers)
    return fail(Code::invalid, "it has neither `mcpServers` nor `servers`",
                "name a file of Claude Code, Claude Desktop, Cursor or VS Code");
  return all;
}

Result<ClientText> read_client_text(const std::string& path) {
  // For root, a link anywhere in the path could make root's own file, with root's variables, that of another user.
  constexpr int kFlags = O_RDONLY | O_NONBLOCK | O_NOCTTY;
  Fd file;
  if (::geteuid() == 0) {
    std::error_code error;
    TRY(file, open_without_links(std::filesystem::absolute(path, error).lexically_normal().string(), kFlags));
  } else {
    file = Fd(::open(path.c_str(), kFlags | O_CLOEXEC));
    if (!file) return fail_errno(errno, "open " + path, errno == ENOENT ? Code::not_found : Code::denied);
  }
  struct stat status {};
  if (::fstat(file.get(), &status) < 0) return fail_errno(errno, path);
  if (!S_ISREG(status.st_mode)) return fail(Code::invalid, path + ": not a regular file");
  auto text = read_complete(file.get(), kMaxClientFile);
  if (!text) return tl::unexpected<Error>(std::move(text).error().within(path));
  return ClientText{*std::move(text), status.st_uid};
}

std::string without_comments(std::string_view text) {
  std::string all;
  size_t comma = text.npos;  // in `all`, if only space follows it
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '"') {
      const size_t begin = i++;
      while (i < text.size() && text[i] != '"') i += text[i] == '\\' ? 2 : 1;
      i = std::min(i + 1, text.size());
      all += text.substr(begin, i - begin);
      comma = text.npos;
    } else if (text.compare(i, 2, "//") == 0) {
      i = std::min(text.find('\n', i), text.size());
    } else if (text.compare(i, 2, "/*") == 0) {
      const size_t end = text.find("*/", i + 2);
      i = end == text.npos ? text.size() : end + 2;
    } else {
      if ((c == '}' || c == ']') && comma != text.npos) all[comma] = ' ';
      if (c == ',') {
        comma = all.size();
      } else if (c != ' ' && c != '\t' && c != '\n' && c != '\r') {
        comma = text.npos;
      }
      all += c;
      i++;
    }
  }
  return all;
}

}  // namespace admin
