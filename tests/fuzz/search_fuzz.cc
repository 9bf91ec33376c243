// A search of an agent in a catalog with the definitions of strangers. Listed tools are there once, in the right list,
// at most as many as the limit, and pass the filters; the total is at least their number. The same search gives the
// same; a greater limit only adds tools. Each tool is found by its name. What tenants choose is learned, stored and
// read back.
// Input: three JSON texts, one on each line: {text, category, server, tags, limit, chosen}, where `chosen` is
// [[query, number of the tool], ...]; the definitions of a server that can be called; those that only describe.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "catalog/catalog.h"
#include "tests/fuzz/metered_jobs.h"
#include "tests/temp_directory.h"

namespace {

using catalog::Catalog;
using catalog::Query;
using catalog::ToolMatches;
using fuzz::require;

constexpr size_t kMaxTools = 50, kMaxLimit = 50, kMaxQueryBytes = 2000, kMaxTags = 16, kMaxNearest = 3;

std::string text_of(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

// As the tool search_tools reads it.
Query read_query(const Json& object) {
  Query query;
  query.text = text_of(object, "text");
  query.text.resize(whole_utf8_prefix(std::string_view(query.text).substr(0, kMaxQueryBytes)));
  query.category = text_of(object, "category");
  query.server = text_of(object, "server");
  if (const auto tags = object.find("tags"); tags != object.end() && tags->is_array())
    for (const Json& tag : *tags)
      if (tag.is_string() && query.tags.size() < kMaxTags) query.tags.push_back(tag.get<std::string>());
  if (const auto limit = object.find("limit"); limit != object.end() && limit->is_number_unsigned())
    query.limit = 1 + limit->get<uint64_t>() % kMaxLimit;
  return query;
}

std::shared_ptr<const Catalog> make_catalog(std::string_view callable, std::string_view described) {
  static const TempDirectory kEmpty;
  auto builder = catalog::CatalogBuilder::begin(kEmpty.path().string());
  require(builder.has_value());
  for (const bool can_be_called : {true, false}) {
    auto document = parse_json(can_be_called ? callable : described);
    if (!document) continue;
    auto reading = catalog::read_definitions(*std::move(document), {can_be_called ? "server" : "other", ""});
    if (!reading || reading->tools.size() > kMaxTools) continue;
    if (can_be_called) {
      builder->add("server", *std::move(reading));
      builder->call_only_servers({});
    } else {
      builder->call_only_servers({});
      builder->add_described("other", *std::move(reading));
    }
  }
  while (!builder->step(std::chrono::seconds(1))) {
  }
  return builder->take();
}

bool same_letters(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

bool passes(const Catalog& all, uint32_t number, const Query& query) {
  const auto tags = all.tags(number);
  const auto tool = all.tool(number);
  return (query.category.empty() || same_letters(tool.category, query.category)) &&
         (query.server.empty() || same_letters(tool.server, query.server)) &&
         std::all_of(query.tags.begin(), query.tags.end(), [&](const std::string& requested) {
           return std::any_of(tags.begin(), tags.end(), [&](auto tag) { return same_letters(tag, requested); });
         });
}

void require_different(const Catalog& all, std::vector<uint32_t> numbers) {
  std::sort(numbers.begin(), numbers.end());
  require(std::adjacent_find(numbers.begin(), numbers.end()) == numbers.end());
  require(numbers.empty() || numbers.back() < all.size());
}

void check(const Catalog& all, const Query& query, const ToolMatches& tools) {
  require(tools.tools.size() <= query.limit && tools.uncallable.size() <= query.limit);
  std::vector<uint32_t> listed = tools.tools;
  listed.insert(listed.end(), tools.uncallable.begin(), tools.uncallable.end());
  require_different(all, listed);
  for (const uint32_t number : tools.tools) require(number < all.callable() && passes(all, number, query));
  for (const uint32_t number : tools.uncallable) require(number >= all.callable() && passes(all, number, query));
  require(tools.total >= listed.size() && tools.total <= all.size());
  require((tools.total == 0) == listed.empty());
  require(tools.total == 0 || (tools.nearest.empty() && tools.elsewhere == 0));
  require(tools.elsewhere <= all.size() && tools.nearest.size() <= kMaxNearest);
  require_different(all, tools.nearest);
  require(!tools.names_uncallable || !tools.uncallable.empty());
  for (const std::string& word : tools.unknown_words) require(valid_utf8(word) == word);
}

bool begins_with(const std::vector<uint32_t>& all, const std::vector<uint32_t>& first) {
  return first.size() <= all.size() && std::equal(first.begin(), first.end(), all.begin());
}

bool is_same(const ToolMatches& a, const ToolMatches& b) {
  return a.tools == b.tools && a.uncallable == b.uncallable && a.total == b.total && a.match == b.match &&
         a.guessed == b.guessed && a.elsewhere == b.elsewhere && a.nearest == b.nearest &&
         a.unknown_words == b.unknown_words && a.names_uncallable == b.names_uncallable;
}

void check_search(const Catalog& all, const Query& query) {
  const ToolMatches found = all.search(query);
  check(all, query, found);
  require(is_same(found, all.search(query)));
  Query longer = query;
  longer.limit = kMaxLimit;
  const ToolMatches more = all.search(longer);
  check(all, longer, more);
  require(more.total == found.total && begins_with(more.tools, found.tools) &&
          begins_with(more.uncallable, found.uncallable));
}

void check_names(const Catalog& all) {
  for (uint32_t number = 0; number < all.size(); number++) {
    const auto tool = all.tool(number);
    Query query;
    query.text = tool.name;
    query.limit = 1;
    const ToolMatches found = all.search(query);
    check(all, query, found);
    if (tool.callable) require(!found.tools.empty() && all.tool(found.tools.front()).name == tool.name);
    const auto named = all.find(tool.name, tool.category, tool.server).tools;
    require(!named.empty());
    require_different(all, named);
    const bool is_hidden = !tool.callable && named.front() < all.callable();  // behind one that can be called
    require(is_hidden || std::find(named.begin(), named.end(), number) != named.end());
  }
}

constexpr catalog::LearningLimits kLimits{.searches = 8, .searches_of_tool = 3, .tools = 4};
constexpr double kRounding = 0.02;       // of a part, with weights in thousandths
constexpr int64_t kNow = 2'000'000'000;  // seconds since 1970
constexpr Monotonic::time_point kAtNow{std::chrono::hours(1000)};

catalog::Learning restored(const std::string& saved) {
  auto learned = catalog::Learning::restored(saved, kNow, kLimits, kAtNow);
  require(learned.has_value());
  return *std::move(learned);
}

// The hints in the order of their tools. A file has the weights of words in thousandths only.
std::vector<catalog::Learning::Hint> hints_by_tool(const Catalog& all, const catalog::Learning& learned,
                                                   std::string_view text) {
  auto hints = learned.hints(all.index(), text, "ada");
  for (const auto& hint : hints) require(hint.part >= 0 && hint.part < 1);
  std::sort(hints.begin(), hints.end(), [](const auto& a, const auto& b) {
    return std::tie(a.tool.server, a.tool.name) < std::tie(b.tool.server, b.tool.name);
  });
  return hints;
}

// Each choice of a tenant teaches; the memory has its bounds; what it means stays the same in a file.
void check_learning(const Catalog& all, Query query, const Json& chosen) {
  catalog::Learning learned(kLimits);
  for (const Json& item : chosen) {
    if (!item.is_array() || item.size() != 2 || !item[0].is_string() || !item[1].is_number_unsigned()) continue;
    const auto number = item[1].get<uint64_t>();
    const auto tool = all.tool(static_cast<uint32_t>(number % all.size()));
    learned.teach(all.index(), item[0].get_ref<const std::string&>(),
                  {std::string(tool.server), std::string(tool.name)}, kAtNow, number % 2 == 0 ? "ada" : "bob");
    require(learned.size() <= kLimits.searches);
  }
  const catalog::Learning learning = restored(learned.saved(kNow, kAtNow));
  require(learning.size() == learned.size());
  const std::string saved = learning.saved(kNow, kAtNow);
  require(restored(saved).saved(kNow, kAtNow) == saved);
  const auto hints = hints_by_tool(all, learned, query.text), same_hints = hints_by_tool(all, learning, query.text);
  require(std::equal(hints.begin(), hints.end(), same_hints.begin(), same_hints.end(), [](auto& a, auto& b) {
    return a.tool == b.tool && a.doubtful == b.doubtful && std::abs(a.part - b.part) < kRounding;
  }));
  query.learned = &learned;
  query.asker = "ada";
  const ToolMatches found = all.search(query);
  check(all, query, found);
  require(is_same(found, all.search(query)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto requested = parse_json(fuzz::take_line(text));
  if (!requested || !requested->is_object()) return 0;
  const std::string_view callable = fuzz::take_line(text);
  const auto all = make_catalog(callable, fuzz::take_line(text));
  const Query query = read_query(*requested);
  check_search(*all, query);
  check_names(*all);
  const auto named = all->find(query.text, query.category, query.server);
  require_different(*all, named.tools);
  require_different(*all, named.nearest);
  require(named.tools == all->named_so(query.text, query.category, query.server));
  const auto chosen = requested->find("chosen");
  if (chosen != requested->end() && chosen->is_array() && all->size() > 0) check_learning(*all, query, *chosen);
  return 0;
}
