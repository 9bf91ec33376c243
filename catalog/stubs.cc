#include "catalog/stubs.h"

#include <algorithm>
#include <array>
#include <map>

#include "catalog/signature.h"
#include "supervisor/base/ascii.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_text.h"
#include "supervisor/base/json/json_value.h"

namespace catalog {
namespace {

constexpr size_t kMaxIdentifier = 100;
constexpr size_t kMaxFunctions = 200;  // functions of one tool without a schema

// Keywords of either language, names that the files use, and names of files with a special meaning. Sorted.
constexpr auto kReserved = std::to_array<std::string_view>({
    "Any",       "False",     "Literal", "None",    "True",       "TypedDict", "and",    "arguments", "as",
    "assert",    "async",     "await",   "break",   "call",       "case",      "catch",  "class",     "const",
    "continue",  "debugger",  "def",     "default", "del",        "delete",    "do",     "elif",      "else",
    "enum",      "eval",      "except",  "export",  "exports",    "extends",   "false",  "finally",   "for",
    "from",      "function",  "global",  "if",      "implements", "import",    "in",     "index",     "instanceof",
    "interface", "is",        "lambda",  "let",     "match",      "module",    "new",    "nonlocal",  "not",
    "null",      "or",        "package", "pass",    "private",    "protected", "public", "raise",     "require",
    "return",    "static",    "super",   "switch",  "this",       "throw",     "true",   "try",       "type",
    "typeof",    "undefined", "var",     "void",    "while",      "with",      "yield",
});
static_assert(std::is_sorted(kReserved.begin(), kReserved.end()));

StubModule make_module(const ToolView& tool, const Json& rest, UsedNames& names) {
  StubModule module;
  module.server = tool.server;
  module.tool = tool.name;
  module.module = identifier(tool.name, names);
  module.signature = signature(tool.name, rest);
  const auto input = rest.find("inputSchema"), output = rest.find("outputSchema"), functions = rest.find("functions");
  StubFunction function;
  function.description = plain_text(tool.description, 4000);
  if (input != rest.end()) {
    function.input = read_type(*input);
    function.has_input = true;
  }
  if (output != rest.end()) {
    function.output = read_type(*output);
    const Json about = output->value("description", Json());
    if (about.is_string()) function.returns = plain_text(about.get_ref<const std::string&>(), 500);
  }
  if (input == rest.end() && functions != rest.end()) {
    for (const Json& name : *functions) {
      if (!name.is_string() || module.functions.size() == kMaxFunctions) continue;
      function.name = name.get<std::string>();
      module.functions.push_back(function);
    }
  }
  if (module.functions.empty()) {
    function.name = tool.name;
    module.functions.push_back(std::move(function));
  }
  return module;
}

}  // namespace

std::string UsedNames::take(const std::string& name) {
  const auto [at, is_new] = names_.try_emplace(name, 1);
  if (is_new) return name;
  // The reference stays valid while others are added.
  for (size_t& last = at->second;;) {
    std::string numbered = name + "_" + std::to_string(++last);
    if (names_.try_emplace(numbered, 1).second) return numbered;
  }
}

std::string identifier(std::string_view name, UsedNames& names) {
  std::string text;
  for (char c : name.substr(0, kMaxIdentifier)) {
    const bool good = is_word(c);
    text += good ? c : '_';
  }
  if (text.empty() || text[0] == '_' || is_digit(text[0])) text.insert(0, "x");
  if (std::binary_search(kReserved.begin(), kReserved.end(), text)) text += '_';
  return names.take(text);
}

std::string string_literal(std::string_view text) { return dump_json(Json(text)); }

std::string plain_text(std::string_view text, size_t max_bytes) {
  std::string plain;
  for (char c : text.substr(0, max_bytes)) {
    const auto byte = static_cast<unsigned char>(c);
    plain += c != '\n' && (byte < ' ' || byte == 0x7F) ? ' ' : c;
  }
  plain.resize(whole_utf8_prefix(plain));
  if (text.size() > max_bytes) plain += "...";
  // Line ends for some readers only: they become spaces.
  for (std::string_view separator : {"\xC2\x85", "\xE2\x80\xA8", "\xE2\x80\xA9"})
    for (size_t at = 0; (at = plain.find(separator, at)) != plain.npos;) plain.replace(at, separator.size(), " ");
  return plain;
}

StubIndex::StubIndex(std::shared_ptr<const Catalog> catalog) : catalog_(std::move(catalog)) {
  std::map<std::string, std::vector<uint32_t>, std::less<>> servers;
  for (uint32_t number = 0; number < catalog_->size(); number++) {
    const ToolView tool = catalog_->tool(number);
    if (tool.kind != ToolKind::tool) continue;
    auto at = servers.find(tool.server);
    if (at == servers.end()) at = servers.emplace(std::string(tool.server), std::vector<uint32_t>()).first;
    at->second.push_back(number);
  }
  UsedNames folders;
  for (auto& [server, numbers] : servers)
    servers_.push_back({server, identifier(server.empty() ? "other" : server, folders), std::move(numbers)});
}

std::vector<StubFile> StubIndex::root() { return {{"__init__.py", python_root()}, {"call.js", javascript_root()}}; }

std::string StubIndex::source(size_t server) const {
  std::string text = servers_[server].name;
  for (const uint32_t number : servers_[server].tools) {
    const ToolView tool = catalog_->tool(number);
    for (std::string_view part : {tool.name, tool.description}) text.append(1, '\0').append(part);
    text.append(1, '\0').append(catalog_->rest(number));
  }
  return text;
}

Result<> StubIndex::make(size_t server, const std::function<Result<>(StubFile)>& take) const {
  const Server& of = servers_[server];
  UsedNames names;
  std::vector<StubModule> modules;
  for (const uint32_t number : of.tools) {
    StubModule module =
        make_module(catalog_->tool(number), parse_own_json(catalog_->rest(number)).value_or(Json::object()), names);
    CHECKED(take({of.folder + "/" + module.module + ".py", python_stub(module)}));
    CHECKED(take({of.folder + "/" + module.module + ".js", javascript_stub(module)}));
    modules.push_back(std::move(module));
  }
  CHECKED(take({of.folder + "/__init__.py", python_server(of.name, modules)}));
  CHECKED(take({of.folder + "/index.js", javascript_server(of.name, modules)}));
  return take({of.folder + "/index.d.ts", typescript_server(of.name, modules)});
}

std::optional<StubFile> StubIndex::file(std::string_view path) const {
  for (StubFile& file : root())
    if (file.path == path) return std::move(file);
  const std::string_view folder = path.substr(0, path.find('/'));
  const auto of = std::find_if(servers_.begin(), servers_.end(), [&](const Server& s) { return s.folder == folder; });
  if (of == servers_.end() || folder.size() == path.size()) return std::nullopt;
  const std::string_view name = path.substr(folder.size() + 1);
  UsedNames names;
  if (name == "__init__.py" || name == "index.js" || name == "index.d.ts") {
    std::vector<StubModule> modules;
    for (const uint32_t number : of->tools)
      modules.push_back(
          make_module(catalog_->tool(number), parse_own_json(catalog_->rest(number)).value_or(Json::object()), names));
    return StubFile{std::string(path), name == "__init__.py" ? python_server(of->name, modules)
                                       : name == "index.js"  ? javascript_server(of->name, modules)
                                                             : typescript_server(of->name, modules)};
  }
  const bool is_python = name.ends_with(".py");
  if (!is_python && !name.ends_with(".js")) return std::nullopt;
  for (const uint32_t number : of->tools) {
    const ToolView tool = catalog_->tool(number);
    const std::string module_name = identifier(tool.name, names);
    if (module_name != name.substr(0, name.size() - 3)) continue;
    UsedNames none;
    StubModule module = make_module(tool, parse_own_json(catalog_->rest(number)).value_or(Json::object()), none);
    module.module = module_name;
    return StubFile{std::string(path), is_python ? python_stub(module) : javascript_stub(module)};
  }
  return std::nullopt;
}

std::vector<StubFile> make_stubs(std::shared_ptr<const Catalog> catalog) {
  const StubIndex index(std::move(catalog));
  std::vector<StubFile> all;
  const auto add = [&all](StubFile file) -> Result<> {
    file.path = "servers/" + file.path;
    all.push_back(std::move(file));
    return {};
  };
  for (StubFile& file : StubIndex::root()) (void)add(std::move(file));
  for (size_t server = 0; server < index.servers(); server++) (void)index.make(server, add);
  std::sort(all.begin(), all.end(), [](const StubFile& a, const StubFile& b) { return a.path < b.path; });
  return all;
}

}  // namespace catalog
