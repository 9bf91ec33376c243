// Stubs: the catalog as code that jailed programs can list, read and import, made from the schemas.
//   servers/__init__.py, servers/call.js           how a stub reaches the supervisor
//   servers/SERVER/__init__.py, index.js           the tools of the server, one signature a line
//   servers/SERVER/index.d.ts                      the types of its functions, for TypeScript
//   servers/SERVER/TOOL.py, TOOL.js                one typed function
// Python: from servers.github import create_issue.  JavaScript: const {create_issue} = require("/servers/github").
// This folder makes the files; other code mounts them. Every text of a definition is written as data: it cannot leave
// the comment or the literal that contains it.
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

// One function of a stub. A tool without a schema has one for each of its functions.
struct StubFunction {
  std::string name;  // its name at the server
  std::string description;
  Type input;
  bool has_input = false;  // false: any arguments are passed on
  Type output;
  std::string returns;  // description of the result in the schema; may be empty
};
struct StubModule {
  std::string server;  // the server's own name
  std::string module;  // name of the file without its ending
  std::string tool, signature;
  std::vector<StubFunction> functions;  // one, or several
};

// StubIndex: the folder of each server below servers/, and the tools of each file. Tools only, no skills. Immutable:
// any thread may call it. Files are made at each call.
class StubIndex {
 public:
  explicit StubIndex(std::shared_ptr<const Catalog> catalog);
  const std::shared_ptr<const Catalog>& catalog() const { return catalog_; }
  size_t servers() const { return servers_.size(); }
  const std::string& folder(size_t server) const { return servers_[server].folder; }  // "github"
  // The input of a server's files, as text: equal texts give equal files.
  std::string source(size_t server) const;
  // The files that all servers share.
  static std::vector<StubFile> root();
  // Makes the files of one server, one after the other, and calls `take` for each. Stops at its first error and returns
  // that error.
  Result<> make(size_t server, const std::function<Result<>(StubFile)>& take) const;
  // One file by its path below servers/, "github/create_issue.py"; nullopt: no file has this path.
  std::optional<StubFile> file(std::string_view path) const;

 private:
  struct Server {
    std::string name, folder;
    std::vector<uint32_t> tools;
  };
  std::shared_ptr<const Catalog> catalog_;
  std::vector<Server> servers_;  // by name
};

// Makes all files, sorted by path.
std::vector<StubFile> make_stubs(std::shared_ptr<const Catalog> catalog);

// UsedNames: names that are in use. A name that comes again gets the next number.
class UsedNames {
 public:
  bool contains(const std::string& name) const { return names_.contains(name); }
  // Returns the first free name of `name`, name_2, name_3, ..., and adds it.
  std::string take(const std::string& name);

 private:
  std::unordered_map<std::string, size_t> names_;  // each name, and the last number given for it
};

// A valid identifier in Python and JavaScript, and no keyword of either: "create-issue" is create_issue, "import" is
// import_. A name that `names` has gets a number. The result is added to `names`.
std::string identifier(std::string_view name, UsedNames& names);

std::string python_stub(const StubModule& module);
std::string python_server(std::string_view server, const std::vector<StubModule>& modules);
std::string python_root();
std::string javascript_stub(const StubModule& module);
std::string javascript_server(std::string_view server, const std::vector<StubModule>& modules);
std::string javascript_root();
std::string typescript_server(std::string_view server, const std::vector<StubModule>& modules);

// Any text as a literal: JSON's string syntax is valid in Python, JavaScript and TypeScript.
std::string string_literal(std::string_view text);
// At most `max_bytes` of a description; control characters become spaces, line ends stay.
std::string plain_text(std::string_view text, size_t max_bytes);

}  // namespace catalog
