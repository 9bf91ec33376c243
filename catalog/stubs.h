// Stubs: the catalogue as code that jailed programs can list, read and import, made from the schemas.
//   servers/__init__.py, servers/call.js           how a stub reaches the supervisor
//   servers/SERVER/__init__.py, index.js           what the server has, one signature a line
//   servers/SERVER/index.d.ts                      its functions' types, for TypeScript
//   servers/SERVER/TOOL.py, TOOL.js                one typed function
// Python: from servers.github import create_issue.  JavaScript: const {create_issue} = require("/servers/github").
// Who mounts it, and where, is not decided here. Every text of a definition is written as data: it cannot leave the
// comment or the literal that it stands in.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "catalog/catalog.h"
#include "catalog/schema.h"
#include "supervisor/base/result.h"

namespace catalog {

struct StubFile {
  std::string path;  // "servers/github/create_issue.py"
  std::string content;
};

// One tool as a stub writes it. A tool of which only functions are known has one for each of them.
struct StubFunction {
  std::string name;  // as its server calls it
  std::string description;
  Type input;
  bool has_input = false;  // else any arguments are passed on
  Type output;
  std::string returns;  // what its schema says about the result; may be empty
};
struct StubModule {
  std::string server;  // as it calls itself
  std::string module;  // the file's name without its ending
  std::string tool, signature;
  std::vector<StubFunction> functions;  // one, or several
};

// Which folder below servers/ each server has, and which of its tools each file. Tools only, no skills. Immutable: any
// thread may ask, and files are made when somebody asks for them.
class StubIndex {
 public:
  explicit StubIndex(std::shared_ptr<const Catalog> catalog);
  const std::shared_ptr<const Catalog>& catalog() const { return catalog_; }
  size_t servers() const { return servers_.size(); }
  const std::string& folder(size_t server) const { return servers_[server].folder; }  // "github"
  // What the files of a server are made of, as text: equal texts, equal files.
  std::string source(size_t server) const;
  // The files that all servers share.
  static std::vector<StubFile> root();
  // Makes the files of one server, one after the other, for `take`; stops at its first error and returns that.
  Result<> make(size_t server, const std::function<Result<>(StubFile)>& take) const;
  // One file by its path below servers/, "github/create_issue.py"; without a value: there is none of that name.
  std::optional<StubFile> file(std::string_view path) const;

 private:
  struct Server {
    std::string name, folder;
    std::vector<uint32_t> tools;
  };
  std::shared_ptr<const Catalog> catalog_;
  std::vector<Server> servers_;  // by name
};

// All at once, sorted by path.
std::vector<StubFile> make_stubs(std::shared_ptr<const Catalog> catalog);

// Names that are used already. A name that comes again gets the next number.
class TakenNames {
 public:
  bool contains(const std::string& name) const { return names_.contains(name); }
  // `name`, or name_2, name_3, ...: the first that is free, and is none any more.
  std::string take(const std::string& name);

 private:
  std::unordered_map<std::string, size_t> names_;  // and the number that was given last for each
};

// A name that is an identifier in both languages and no word of either: "create-issue" is create_issue, "import"
// import_. Names that `taken` has get a number; the result is added to it.
std::string identifier(std::string_view name, TakenNames& taken);

std::string python_stub(const StubModule& module);
std::string python_server(std::string_view server, const std::vector<StubModule>& modules);
std::string python_root();
std::string javascript_stub(const StubModule& module);
std::string javascript_server(std::string_view server, const std::vector<StubModule>& modules);
std::string javascript_root();
std::string typescript_server(std::string_view server, const std::vector<StubModule>& modules);

// Any text as a literal: JSON's strings are those of Python, JavaScript and TypeScript, too.
std::string string_literal(std::string_view text);
// At most `max_bytes` of a description, without control characters but line ends.
std::string plain_text(std::string_view text, size_t max_bytes);

}  // namespace catalog
