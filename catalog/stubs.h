// Stubs: the catalogue as code that jailed programs can list, read and import, made from the schemas.
//   servers/__init__.py, servers/call.js           how a stub reaches the supervisor
//   servers/SERVER/__init__.py, index.js           what the server has, one signature a line
//   servers/SERVER/TOOL.py, TOOL.js                one typed function
// Python: from servers.github import create_issue.  JavaScript: const {create_issue} = require("/servers/github").
// Who mounts it, and where, is not decided here. Every text of a definition is written as data: it cannot leave the
// comment or the literal that it stands in.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/catalog.h"
#include "catalog/schema.h"

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

// Makes them in slices, so that a daemon goes on serving meanwhile. Tools only, no skills.
class StubMaker {
 public:
  // At most `max_tools`: of the servers in their order, whole ones; those that do not fit are left out and named.
  explicit StubMaker(std::shared_ptr<const Catalog> catalog, size_t max_tools = 5'000);
  ~StubMaker();
  // Some more files, of a few tools; empty: there are no more.
  std::vector<StubFile> next();
  const std::vector<std::string>& left_out() const { return left_out_; }

 private:
  struct Server {
    std::string name, folder;
    std::vector<uint32_t> tools;
  };
  std::shared_ptr<const Catalog> catalog_;
  std::vector<Server> servers_;
  std::vector<std::string> left_out_;
  size_t server_ = 0, tool_ = 0;
  bool begun_ = false;
  std::vector<std::string> taken_;   // modules' names of this server
  std::vector<StubModule> modules_;  // of this server, so far
};

// All at once, sorted by path.
std::vector<StubFile> make_stubs(std::shared_ptr<const Catalog> catalog);

// A name that is an identifier in both languages and no word of either: "create-issue" is create_issue, "import"
// import_. Names that `taken` has get a number; the result is added to it.
std::string identifier(std::string_view name, std::vector<std::string>& taken);

std::string python_stub(const StubModule& module);
std::string python_server(std::string_view server, const std::vector<StubModule>& modules);
std::string python_root();
std::string javascript_stub(const StubModule& module);
std::string javascript_server(std::string_view server, const std::vector<StubModule>& modules);
std::string javascript_root();

// At most `max_bytes` of a description, without control characters but line ends.
std::string plain_text(std::string_view text, size_t max_bytes);

}  // namespace catalog
