#include "catalog/stubs.h"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "catalog/signature.h"
#include "supervisor/base/json.h"

using nlohmann::json;

namespace catalog {
namespace {

constexpr size_t kMaxIdentifier = 100;
constexpr size_t kMaxFunctions = 200;  // of one tool without a schema

// Words of either language, names that the files themselves use, and names of files that have a meaning. Sorted.
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

StubModule make_module(const ToolView& tool, const json& rest, std::vector<std::string>& taken) {
  StubModule module;
  module.server = tool.server;
  module.tool = tool.name;
  module.module = identifier(tool.name, taken);
  module.signature = signature(tool.name, rest);
  const auto input = rest.find("inputSchema"), output = rest.find("outputSchema"), functions = rest.find("functions");
  StubFunction function;
  function.description = plain_text(tool.description, 4000);
  if (input != rest.end()) {
    function.input = read_type(*input);
    function.has_input = true;
  }
  if (output != rest.end()) function.output = read_type(*output);
  if (input == rest.end() && functions != rest.end()) {
    for (const json& name : *functions) {
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

std::string identifier(std::string_view name, std::vector<std::string>& taken) {
  std::string text;
  for (char c : name.substr(0, kMaxIdentifier)) {
    const bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    text += good ? c : '_';
  }
  if (text.empty() || text[0] == '_' || (text[0] >= '0' && text[0] <= '9')) text.insert(0, "x");
  if (std::binary_search(kReserved.begin(), kReserved.end(), text)) text += '_';
  const std::string plain = text;
  for (int i = 2; std::find(taken.begin(), taken.end(), text) != taken.end(); i++)
    text = plain + "_" + std::to_string(i);
  taken.push_back(text);
  return text;
}

std::string plain_text(std::string_view text, size_t max_bytes) {
  std::string plain;
  for (char c : text.substr(0, max_bytes)) {
    const auto byte = static_cast<unsigned char>(c);
    plain += c != '\n' && (byte < ' ' || byte == 0x7F) ? ' ' : c;
  }
  plain.resize(whole_utf8_prefix(plain));
  if (text.size() > max_bytes) plain += "...";
  // Line ends of some readers, none of others.
  for (std::string_view separator : {"\xC2\x85", "\xE2\x80\xA8", "\xE2\x80\xA9"})
    for (size_t at = 0; (at = plain.find(separator, at)) != plain.npos;) plain.replace(at, separator.size(), " ");
  return plain;
}

std::vector<StubFile> make_stubs(const Catalog& catalog) {
  std::map<std::string, std::vector<uint32_t>> servers;
  for (uint32_t number = 0; number < catalog.size(); number++) {
    const ToolView tool = catalog.tool(number);
    if (tool.kind == Kind::tool) servers[std::string(tool.server)].push_back(number);
  }
  std::vector<StubFile> files = {{"servers/__init__.py", python_root()}, {"servers/call.js", javascript_root()}};
  std::vector<std::string> folders;
  for (const auto& [server, numbers] : servers) {
    const std::string folder = "servers/" + identifier(server.empty() ? "other" : server, folders);
    std::vector<std::string> taken;
    std::vector<StubModule> modules;
    for (uint32_t number : numbers)
      modules.push_back(make_module(catalog.tool(number), json::parse(catalog.rest(number)), taken));
    for (const StubModule& module : modules) {
      files.push_back({folder + "/" + module.module + ".py", python_stub(module)});
      files.push_back({folder + "/" + module.module + ".js", javascript_stub(module)});
    }
    files.push_back({folder + "/__init__.py", python_server(server, modules)});
    files.push_back({folder + "/index.js", javascript_server(server, modules)});
  }
  std::sort(files.begin(), files.end(), [](const StubFile& a, const StubFile& b) { return a.path < b.path; });
  return files;
}

}  // namespace catalog
