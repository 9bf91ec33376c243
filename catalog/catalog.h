// Catalog: all known tool definitions, merged and searchable. Immutable: a reload makes a new catalog.
// Source: CatalogBuilder, from a folder of files (folder.h, reader.h) and from the answers of upstream servers. Used
// by: supervisor/tools. Tools that can be called have lower numbers than all others; both are numbered by name, then
// server. So every listing has the same order, and a tool that cannot be called never stands before one that can.
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/folder.h"
#include "catalog/index.h"
#include "catalog/learning.h"
#include "catalog/reader.h"
#include "catalog/reading_ahead.h"
#include "catalog/thesaurus.h"
#include "catalog/tool.h"
#include "supervisor/base/result.h"

namespace catalog {

constexpr size_t kMaxTools = 200'000;
constexpr std::string_view kNameSeparators[] = {"__", ":", "/", "."};  // between a server's name and a tool's

struct Problem {
  std::string file;  // path below the folder
  std::string what;
};

// A category or a server, with its number of tools.
struct Group {
  std::string name;
  std::string description;  // of a category; may be empty
  size_t tools = 0;
};

struct Query {
  std::string text;               // empty: all tools that pass the filters, by name
  std::string category, server;   // empty: no filter
  std::vector<std::string> tags;  // a tool must have all of them
  size_t limit = 5;
  const Learning* learned = nullptr;     // what earlier searches led to; nullptr: not used
  std::string asker;                     // tenant of the search, so that learning can tell its own searches from others
  const Thesaurus* thesaurus = nullptr;  // nullptr: not used
};

// How sure an answer is. strong: the first tools have a large part of the query; README.md has the measurement.
enum class Match : uint8_t { weak, strong };

struct ToolMatches {
  std::vector<uint32_t> tools;  // best first: exact names, exact last segments, then by words
  // Known tools that cannot be called, likewise best first. A caller lists them after `tools` and after skills.
  std::vector<uint32_t> uncallable;
  bool names_uncallable = false;  // the query is the name of the first of `uncallable`
  size_t total = 0;               // tools with any of the words; only the best are listed
  Match match = Match::weak;
  bool guessed = false;  // no tool has any word of the sentence; the catalog is small, and some tools are listed
  size_t elsewhere = 0;  // if no tool is found: the number of hits without the filters
  std::vector<uint32_t> nearest;           // if no tool is found: tools with similar spelling or meaning
  std::vector<std::string> unknown_words;  // words of the query that no tool has
};

// The tools that a name may mean.
struct Named {
  std::vector<uint32_t> tools;    // one: found; several: ambiguous; empty: unknown
  std::vector<uint32_t> nearest;  // similar tools, for an unknown name
};

class Catalog {
 public:
  size_t size() const { return records_.size(); }
  // Tools that can be called: those with lower numbers than this.
  size_t callable() const { return callable_; }
  // The upstream servers that can be called: how many, and those with tools that are not known yet, sorted.
  size_t upstream_servers() const { return upstream_servers_; }
  const std::vector<std::string>& unlearned_servers() const { return unlearned_servers_; }
  ToolView tool(uint32_t number) const;
  // The other members of the definition: a JSON object in one line.
  std::string rest(uint32_t number) const;
  std::vector<std::string_view> tags(uint32_t number) const;
  // The signature of a tool (signature.h). Recent signatures are cached: for one thread at a time.
  std::string signature(uint32_t number) const;

  // Sorted by name.
  const std::vector<Group>& categories() const { return categories_; }
  const std::vector<Group>& servers() const { return servers_; }
  const std::vector<std::string>& core_servers() const { return core_servers_; }  // "core_mcps", in file order
  // Definitions and files that were left out, in the order of the files: at most kMaxProblems.
  const std::vector<Problem>& problems() const { return problems_; }
  size_t problem_count() const { return problem_count_; }

  // A server's name before ':', '/', '.' or "__" is a filter; it does not score.
  ToolMatches search(const Query& query) const;
  // Finds a tool by its name; by its name without case and separators; by "server.name"; by the last segments of its
  // name, if they are unambiguous. Among several, only the tools that can be called count, if there are any.
  Named find(std::string_view name, std::string_view category = {}, std::string_view server = {}) const;
  // Only the `tools` of find(), at the cost of a look-up: find() compares an unknown name with all names.
  std::vector<uint32_t> named_so(std::string_view name, std::string_view category = {},
                                 std::string_view server = {}) const;

  // The tools, or the server, with the name most similar to a text in spelling or meaning; empty: no name is similar.
  // Tools that can be called come first.
  std::vector<uint32_t> nearest_tools(std::string_view text, std::string_view server = {}) const;
  std::string_view nearest_server(std::string_view name) const;

  const Index& index() const { return index_; }
  size_t bytes() const;  // memory in all

  static constexpr size_t kMaxProblems = 100;

 private:
  friend class CatalogBuilder;
  struct Record {
    uint64_t text;  // position in texts_ of name, description, rest (packed.h)
    uint32_t description_bytes, rest_bytes;
    uint32_t server, category;
    uint32_t tags_end;  // end of the tool's tags in tag_ids_
    uint16_t name_bytes;
    ToolKind kind;
  };
  struct Name {  // a hash of a folded name
    uint32_t hash, tool;
    auto operator<=>(const Name&) const = default;
  };
  class Filter;
  void add_names(uint32_t number);
  std::vector<uint32_t> named(const std::vector<Name>& names, const std::string& folded_name) const;
  // Tools with this name, then tools with these last segments.
  std::vector<uint32_t> exact(std::string_view text) const;
  // Removes a server's name from the beginning of the text and returns it.
  std::string take_server(std::string_view& text) const;
  bool is_callable(uint32_t number) const { return number < callable_; }
  // Puts the tools, of which the first `named` have the name that was searched, into the lists of `match`.
  void list(ToolMatches& match, const std::vector<uint32_t>& tools, size_t named, size_t limit) const;
  void rank(ToolMatches& tools, const std::vector<uint32_t>& first, const Query& query, std::string_view text,
            const Index::Terms& terms, const Filter& passes) const;

  std::string texts_;
  std::vector<Record> records_;
  size_t callable_ = 0, upstream_servers_ = 0;
  std::vector<std::string> unlearned_servers_;
  std::vector<Group> categories_, servers_;
  std::vector<std::string> tag_names_;
  std::vector<uint32_t> tag_ids_;
  std::vector<std::string> core_servers_;
  std::vector<Problem> problems_;
  size_t problem_count_ = 0;
  std::vector<Name> names_, segments_;  // sorted
  Index index_;
  struct Signature {
    uint32_t tool = ~uint32_t{0};
    std::string text;
  };
  static constexpr size_t kSignatures = 1024;  // cache size; a signature has the index (tool number modulo this)
  struct Signatures {
    std::mutex mutex;  // held for a copy: searches run on several threads
    std::vector<Signature> all{kSignatures};
  };
  const std::unique_ptr<Signatures> signatures_ = std::make_unique<Signatures>();
};

// CatalogBuilder: makes a Catalog in slices, so that a daemon can serve requests meanwhile.
class CatalogBuilder {
 public:
  // Errors: not_found, denied: the folder cannot be read. `threads`: additional threads that read the files, beside the
  // thread that calls step().
  static Result<CatalogBuilder> begin(const std::string& folder, unsigned threads = 0);
  // Adds the definitions of an upstream server: its answer to tools/list. To be called before the first step.
  void add(const std::string& origin, Reading reading);
  // A daemon can call only its own upstream servers: from now on, a tool can be called if add() brought it, or if its
  // server is one of `unlearned`, the servers with tools that are not known yet. Without this call every tool can be
  // called. To be called before the first step.
  void call_only_servers(std::vector<std::string> unlearned);
  // Adds definitions that are treated as those of the folder's files. After call_only_servers(), before the first step.
  void add_described(const std::string& origin, Reading reading);
  // True when the catalog is complete. Stops at the first file or tool after `slice`. The last step, which builds the
  // index, takes about 4 us for each tool.
  bool step(std::chrono::microseconds slice);
  // After the last step.
  std::shared_ptr<const Catalog> take();
  const FolderListing& listing() const { return listing_; }

 private:
  enum class Phase { reading, storing, finishing, done };
  enum class Source { folder, server };
  struct Pending {
    Tool tool;
    Form form;
    int definitions;  // definitions of this tool so far
    bool callable;
  };
  void take(const std::string& origin, Reading reading, Source source);
  void merge(const std::string& origin, Tool tool, Form form, Source source);
  void sort_pending();
  void store(Pending& pending);
  void problem(const std::string& file, std::string message);

  FolderListing listing_;
  std::unique_ptr<ReadingAhead> files_;
  Phase phase_ = Phase::reading;
  size_t next_ = 0;  // index of the next file or tool
  std::vector<Pending> pending_;
  bool calls_only_servers_ = false;
  std::map<std::pair<std::string, std::string>, size_t> indexes_;  // server and name to index in pending_
  std::map<std::string, std::string> category_texts_;
  std::map<std::string, uint32_t> category_ids_, server_ids_, tag_ids_;
  std::shared_ptr<Catalog> catalog_ = std::make_shared<Catalog>();
  IndexBuilder builder_;
};

// Runs a CatalogBuilder to its end.
Result<std::shared_ptr<const Catalog>> load_catalog(const std::string& folder);

}  // namespace catalog
