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
constexpr size_t kSlice = 16;          // tools
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
  if (output != rest.end()) {
    function.output = read_type(*output);
    const json about = output->value("description", json());
    if (about.is_string()) function.returns = plain_text(about.get_ref<const std::string&>(), 500);
  }
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

StubMaker::StubMaker(std::shared_ptr<const Catalog> catalog, size_t max_tools) : catalog_(std::move(catalog)) {
  std::map<std::string, std::vector<uint32_t>> servers;
  for (uint32_t number = 0; number < catalog_->size(); number++) {
    const ToolView tool = catalog_->tool(number);
    if (tool.kind == Kind::tool) servers[std::string(tool.server)].push_back(number);
  }
  std::vector<std::string> folders;
  size_t tools = 0;
  for (auto& [server, numbers] : servers) {
    if (tools + numbers.size() > max_tools) {
      left_out_.push_back(server);
      continue;
    }
    tools += numbers.size();
    servers_.push_back(
        {server, "servers/" + identifier(server.empty() ? "other" : server, folders), std::move(numbers)});
  }
}

StubMaker::~StubMaker() = default;

std::vector<StubFile> StubMaker::next() {
  if (!std::exchange(begun_, true))
    return {{"servers/__init__.py", python_root()}, {"servers/call.js", javascript_root()}};
  std::vector<StubFile> files;
  if (server_ == servers_.size()) return files;
  const Server& server = servers_[server_];
  for (size_t i = 0; i < kSlice && tool_ < server.tools.size(); i++, tool_++) {
    const uint32_t number = server.tools[tool_];
    modules_.push_back(make_module(catalog_->tool(number), json::parse(catalog_->rest(number)), taken_));
    const StubModule& module = modules_.back();
    files.push_back({server.folder + "/" + module.module + ".py", python_stub(module)});
    files.push_back({server.folder + "/" + module.module + ".js", javascript_stub(module)});
  }
  if (tool_ < server.tools.size()) return files;
  files.push_back({server.folder + "/__init__.py", python_server(server.name, modules_)});
  files.push_back({server.folder + "/index.js", javascript_server(server.name, modules_)});
  server_++;
  tool_ = 0;
  taken_.clear();
  modules_.clear();
  return files;
}

std::vector<StubFile> make_stubs(std::shared_ptr<const Catalog> catalog) {
  std::vector<StubFile> all;
  const size_t every = catalog->size();
  StubMaker maker(std::move(catalog), every);
  for (auto files = maker.next(); !files.empty(); files = maker.next())
    std::move(files.begin(), files.end(), std::back_inserter(all));
  std::sort(all.begin(), all.end(), [](const StubFile& a, const StubFile& b) { return a.path < b.path; });
  return all;
}

}  // namespace catalog
