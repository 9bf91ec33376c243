// Catalog: all tool definitions that are known, merged and searchable. Immutable: a reload makes another one.
// Source: CatalogBuilder, from a folder of files (folder.h, reader.h) and from what servers said. Used by:
// supervisor/tools. Tools are numbered by name, then server, so that every listing has one order.
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
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
  std::string file;  // below the folder
  std::string what;
};

// A category or a server.
struct Group {
  std::string name;
  std::string description;  // of a category; may be empty
  size_t tools = 0;
};

struct Query {
  std::string text;               // empty: all that the filters let through, by name
  std::string category, server;   // empty: any
  std::vector<std::string> tags;  // a tool has them all
  size_t limit = 5;
  const Learning* learned = nullptr;     // what earlier searches meant; nullptr: nothing is known
  std::string asker;                     // whose search it is, for what was learned of others' searches
  const Thesaurus* thesaurus = nullptr;  // nullptr: without
};

// How sure an answer is. Strong: the first tools have much of what was asked for; measured in README.md.
enum class Match : uint8_t { weak, strong };

struct FoundTools {
  std::vector<uint32_t> tools;  // best first: exact names, exact last segments, then by words
  size_t total = 0;             // that have any of the words, of which the best are listed
  Match match = Match::weak;
  bool guessed = false;           // none has any of the words of a sentence: there are few, and some are listed
  size_t elsewhere = 0;           // when none fits: how many would without the filters
  std::vector<uint32_t> nearest;  // when none fits: what is spelt or meant most like it
  std::vector<std::string> unknown_words;  // of the query, that no tool has
};

// What a name means.
struct Named {
  std::vector<uint32_t> tools;    // one: this is it; several: ambiguous; none: unknown
  std::vector<uint32_t> nearest;  // when unknown
};

class Catalog {
 public:
  size_t size() const { return records_.size(); }
  ToolView tool(uint32_t number) const;
  // The other members of its definition: a JSON object in one line.
  std::string rest(uint32_t number) const;
  std::vector<std::string_view> tags(uint32_t number) const;
  // Its signature (signature.h). Those that were asked for lately are kept: one thread at a time.
  const std::string& signature(uint32_t number) const;

  // Sorted by name.
  const std::vector<Group>& categories() const { return categories_; }
  const std::vector<Group>& servers() const { return servers_; }
  const std::vector<std::string>& core_servers() const { return core_servers_; }  // "core_mcps", as they were listed
  // What was left out, in the order of the files: at most kMaxProblems.
  const std::vector<Problem>& problems() const { return problems_; }
  size_t problem_count() const { return problem_count_; }

  // A server's name before ':', '/', '.' or "__" filters; it does not score.
  FoundTools search(const Query& query) const;
  // The name itself; without case and separators; "server.name"; its last segments, if that is unambiguous.
  Named find(std::string_view name, std::string_view category = {}, std::string_view server = {}) const;
  // Its `tools` alone, at the price of a look-up: what is nearest to an unknown name is sought among all there are.
  std::vector<uint32_t> named_so(std::string_view name, std::string_view category = {},
                                 std::string_view server = {}) const;

  // The tools whose names are spelt or meant most like a text, and the server; empty: none is near.
  std::vector<uint32_t> nearest_tools(std::string_view text, std::string_view server = {}) const;
  std::string_view nearest_server(std::string_view name) const;

  const Index& index() const { return index_; }
  size_t bytes() const;  // of memory, all in all

  static constexpr size_t kMaxProblems = 100;

 private:
  friend class CatalogBuilder;
  struct Record {
    uint64_t text;  // where in texts_: name, description, rest (packed.h)
    uint32_t description_bytes, rest_bytes;
    uint32_t server, category;
    uint32_t tags_end;  // in tag_ids_
    uint16_t name_bytes;
    Kind kind;
  };
  struct Name {  // a hash of a folded name
    uint32_t hash, tool;
    auto operator<=>(const Name&) const = default;
  };
  class Filter;
  void add_names(uint32_t number);
  std::vector<uint32_t> named(const std::vector<Name>& names, const std::string& folded_name) const;
  // Whose name or last segments the text is: names first.
  std::vector<uint32_t> exact(std::string_view text) const;
  // Takes a server's name off the text.
  std::string take_server(std::string_view& text) const;
  void rank(FoundTools& found, const Query& query, std::string_view text, const Index::Terms& terms,
            const Filter& passes) const;

  std::string texts_;
  std::vector<Record> records_;
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
  static constexpr size_t kSignatures = 1024;  // kept, each at its tool's number modulo this
  mutable std::vector<Signature> signatures_{kSignatures};
};

// Makes a Catalog in slices, so that a daemon goes on serving meanwhile.
class CatalogBuilder {
 public:
  // Errors: not_found, denied: the folder cannot be read.
  // `threads`: so many more read the files beside whoever steps.
  static Result<CatalogBuilder> begin(const std::string& folder, unsigned threads = 0);
  // What a server answered to tools/list, or where else definitions come from. Before the first step.
  void add(const std::string& origin, Reading reading);
  // True when there is nothing left to do. Stops at the first file or tool after `slice`; the last step, which puts
  // the index together, takes about 4 us for each tool.
  bool step(std::chrono::microseconds slice);
  // After the last step.
  std::shared_ptr<const Catalog> take();
  const FolderListing& listing() const { return listing_; }

 private:
  enum class Phase { reading, storing, finishing, done };
  struct Pending {
    Tool tool;
    Form form;
    int definitions;  // of it, so far
  };
  void merge(const std::string& origin, Tool tool, Form form);
  void sort_pending();
  void store(Pending& pending);
  void problem(const std::string& file, std::string what);

  FolderListing listing_;
  std::unique_ptr<ReadingAhead> files_;
  Phase phase_ = Phase::reading;
  size_t next_ = 0;  // file or tool
  std::vector<Pending> pending_;
  std::map<std::pair<std::string, std::string>, size_t> known_;  // server and name to pending
  std::map<std::string, std::string> category_texts_;
  std::map<std::string, uint32_t> category_ids_, server_ids_, tag_ids_;
  std::shared_ptr<Catalog> catalog_ = std::make_shared<Catalog>();
  IndexBuilder builder_;
};

// All at once.
Result<std::shared_ptr<const Catalog>> load_catalog(const std::string& folder);

}  // namespace catalog
