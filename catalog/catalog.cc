#include "catalog/catalog.h"

#include <algorithm>

#include "catalog/packed.h"

namespace catalog {
namespace {

constexpr size_t kNearest = 3;
constexpr size_t kMaxParts = 8;  // of one search
constexpr std::string_view kSeparators[] = {"__", ":", "/", "."};

uint32_t hash(std::string_view text) {  // FNV-1a
  uint32_t h = 2166136261u;
  for (char c : text) h = (h ^ static_cast<unsigned char>(c)) * 16777619u;
  return h;
}

// What follows each separator of a name: "a.b__c" has "b__c" and "c".
std::vector<std::string_view> last_segments(std::string_view name) {
  std::vector<std::string_view> all;
  for (size_t at = 1; at + 1 < name.size() && all.size() < 8; at++) {
    for (std::string_view separator : kSeparators)
      if (std::string_view rest = name.substr(at); rest.starts_with(separator) && rest.size() > separator.size()) {
        all.push_back(rest.substr(separator.size()));
        break;
      }
  }
  return all;
}

bool same_letters(std::string_view a, std::string_view b) {
  auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && static_cast<unsigned char>(text.front()) <= ' ') text.remove_prefix(1);
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.remove_suffix(1);
  return text;
}

// What a search names one after the other: "open a ticket and tell bob" is two. One part: nothing was joined.
std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> all;
  size_t begin = 0;
  for (size_t at = 0; at < text.size() && all.size() < kMaxParts; at++) {
    size_t length = text[at] == ',' || text[at] == ';' || text[at] == '\n' ? 1 : 0;
    for (std::string_view word : {" and ", " then "})
      if (text.substr(at).starts_with(word)) length = word.size() - 1;
    if (length == 0) continue;
    all.push_back(text.substr(begin, at - begin));
    begin = at + length;
    at = begin - 1;
  }
  all.push_back(text.substr(begin));
  return all;
}

void append_new(std::vector<uint32_t>& all, const std::vector<uint32_t>& more) {
  for (uint32_t one : more)
    if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(one);
}

}  // namespace

ToolView Catalog::tool(uint32_t number) const {
  const Record& record = records_[number];
  std::string_view text = std::string_view(texts_).substr(record.text);
  ToolView view;
  view.name = text.substr(0, record.name_bytes);
  view.description = text.substr(record.name_bytes, record.description_bytes);
  view.server = servers_[record.server].name;
  view.category = categories_[record.category].name;
  view.kind = record.kind;
  return view;
}

std::string Catalog::rest(uint32_t number) const {
  const Record& record = records_[number];
  return unpacked(
      std::string_view(texts_).substr(record.text + record.name_bytes + record.description_bytes, record.rest_bytes));
}

std::vector<std::string_view> Catalog::tags(uint32_t number) const {
  std::vector<std::string_view> all;
  for (uint32_t i = number == 0 ? 0 : records_[number - 1].tags_end; i < records_[number].tags_end; i++)
    all.push_back(tag_names_[tag_ids_[i]]);
  return all;
}

// A query's filters, as numbers.
class Catalog::Filter {
 public:
  Filter(const Catalog& catalog, std::string_view category, std::string_view server,
         const std::vector<std::string>& tags)
      : catalog_(catalog) {
    if (!category.empty()) categories_ = matching(catalog.categories_, category);
    if (!server.empty()) servers_ = matching(catalog.servers_, server);
    for (const auto& tag : tags) {
      auto& ids = tags_.emplace_back();
      for (uint32_t id = 0; id < catalog.tag_names_.size(); id++)
        if (same_letters(catalog.tag_names_[id], tag)) ids.push_back(id);
    }
  }
  bool filters() const { return categories_ || servers_ || !tags_.empty(); }
  bool operator()(uint32_t number) const {
    const Record& record = catalog_.records_[number];
    if (categories_ && !(*categories_)[record.category]) return false;
    if (servers_ && !(*servers_)[record.server]) return false;
    const auto begin = catalog_.tag_ids_.begin() + (number == 0 ? 0 : catalog_.records_[number - 1].tags_end);
    const auto end = catalog_.tag_ids_.begin() + record.tags_end;
    return std::all_of(tags_.begin(), tags_.end(), [&](const auto& ids) {
      return std::any_of(ids.begin(), ids.end(), [&](uint32_t id) { return std::find(begin, end, id) != end; });
    });
  }

 private:
  // Spellings that differ in case are one name.
  static std::vector<bool> matching(const std::vector<Group>& groups, std::string_view name) {
    std::vector<bool> all(groups.size());
    for (size_t i = 0; i < groups.size(); i++) all[i] = same_letters(groups[i].name, name);
    return all;
  }
  const Catalog& catalog_;
  std::optional<std::vector<bool>> categories_, servers_;
  std::vector<std::vector<uint32_t>> tags_;
};

void Catalog::add_names(uint32_t number) {
  const std::string_view name = tool(number).name;
  names_.push_back({hash(folded(name)), number});
  for (std::string_view segment : last_segments(name)) segments_.push_back({hash(folded(segment)), number});
}

std::vector<uint32_t> Catalog::named(const std::vector<Name>& names, const std::string& folded_name) const {
  std::vector<uint32_t> all;
  if (folded_name.empty()) return all;
  const uint32_t wanted = hash(folded_name);
  auto at = std::lower_bound(names.begin(), names.end(), Name{wanted, 0});
  for (; at != names.end() && at->hash == wanted; ++at) {
    const std::string_view name = tool(at->tool).name;
    bool same = false;
    if (&names == &names_) {
      same = folded(name) == folded_name;
    } else {
      for (std::string_view segment : last_segments(name)) same |= folded(segment) == folded_name;
    }
    if (same && (all.empty() || all.back() != at->tool)) all.push_back(at->tool);
  }
  return all;
}

std::vector<uint32_t> Catalog::exact(std::string_view text) const {
  const std::string plain = folded(text);
  std::vector<uint32_t> all = named(names_, plain);
  // Of several spellings, the one that was asked for comes first.
  std::stable_partition(all.begin(), all.end(), [&](uint32_t number) { return tool(number).name == text; });
  append_new(all, named(segments_, plain));
  return all;
}

std::string Catalog::take_server(std::string_view& text) const {
  std::string_view rest = text;
  if (rest.starts_with("mcp__")) rest.remove_prefix(5);  // as some clients show tools
  const Group* best = nullptr;
  std::string_view after;
  for (const Group& server : servers_) {
    if (server.name.empty() || rest.size() <= server.name.size()) continue;
    if (!same_letters(rest.substr(0, server.name.size()), server.name)) continue;
    for (std::string_view separator : kSeparators) {
      std::string_view tail = rest.substr(server.name.size());
      if (!tail.starts_with(separator) || tail.size() == separator.size()) continue;
      if (best && best->name.size() >= server.name.size()) break;
      best = &server;
      after = trimmed(tail.substr(separator.size()));
      break;
    }
  }
  if (!best || after.empty()) return {};
  text = after;
  return best->name;
}

// Spelt like it, else sharing words with it.
std::vector<uint32_t> Catalog::nearest(std::string_view text) const {
  struct Near {
    unsigned distance;
    uint32_t tool;
    auto operator<=>(const Near&) const = default;
  };
  std::vector<uint32_t> all;
  const std::string plain = folded(text.substr(0, 4 * kMaxNameBytes));
  const unsigned most = static_cast<unsigned>(plain.size() / 3);
  std::vector<Near> near;
  const Spelling spelling(plain);
  std::string other;
  for (uint32_t number = 0; number < size() && plain.size() <= Spelling::kMaxBytes; number++) {
    const std::string_view name = tool(number).name;
    if (name.size() + most < plain.size()) continue;
    fold(name, other);
    if (other.size() > plain.size() + most) continue;
    if (unsigned distance = spelling.distance(other); distance <= most) near.push_back({distance, number});
  }
  std::sort(near.begin(), near.end());
  for (size_t i = 0; i < near.size() && i < kNearest; i++) all.push_back(near[i].tool);
  if (all.size() < kNearest) {
    const auto ranking = index_.rank(index_.corrected(index_.terms(text)), kNearest);
    for (const auto& hit : ranking.hits) append_new(all, {hit.document});
  }
  all.resize(std::min(all.size(), kNearest));
  return all;
}

// Behind the exact names: what such words led to before goes before what only has them. What does not have them takes
// at most some of the places, from the last.
void Catalog::move_up(Found& found, const Query& query, std::string_view text, size_t exact,
                      const Filter& passes) const {
  if (!query.learned || text.empty() || exact >= query.limit) return;
  const size_t places = Learning::most_learned(query.limit);
  std::vector<uint32_t> up;
  size_t without_words = 0;
  for (const auto& hint : query.learned->hints(index_, text)) {
    const Named meant = find(hint.tool.name, {}, hint.tool.server);
    const uint32_t number = meant.tools.size() == 1 ? meant.tools.front() : ~uint32_t{0};
    if (meant.tools.size() != 1 || tool(number).name != hint.tool.name || !passes(number)) continue;
    const auto listed = std::find(found.tools.begin(), found.tools.end(), number);
    if (listed != found.tools.end()) {
      if (listed - found.tools.begin() < static_cast<ptrdiff_t>(exact)) continue;
      found.tools.erase(listed);
    } else if (without_words++ >= places) {
      continue;
    }
    up.push_back(number);
  }
  found.tools.insert(found.tools.begin() + static_cast<ptrdiff_t>(exact), up.begin(), up.end());
  found.total = std::max(found.total, found.tools.size());
}

// A search for several things: no tool has half of its words. What is best for each part takes the free places in turn.
void Catalog::add_parts(Found& found, std::string_view text, size_t limit, const Index::Mask& mask) const {
  if (found.tools.size() >= limit) return;
  std::vector<Index::Ranking> rankings;
  for (std::string_view part : parts_of(text))
    if (const Index::Terms terms = index_.terms(part); terms.promising())
      rankings.push_back(index_.rank(terms, limit, mask));
  if (rankings.size() < 2) return;
  for (size_t place = 0; place < limit; place++)
    for (const auto& ranking : rankings)
      if (place < ranking.hits.size()) append_new(found.tools, {ranking.hits[place].document});
  found.tools.resize(std::min(found.tools.size(), limit));
  found.total = std::max(found.total, found.tools.size());
}

Found Catalog::search(const Query& query) const {
  std::string_view text = trimmed(query.text);
  std::string server = query.server;
  std::vector<uint32_t> first = exact(text);
  std::string_view rest = text;
  if (std::string prefix = first.empty() ? take_server(rest) : std::string();
      !prefix.empty() && (server.empty() || same_letters(server, prefix))) {
    server = std::move(prefix);
    text = rest;
    first = exact(text);
  }
  const Filter passes(*this, query.category, server, query.tags);
  std::erase_if(first, [&](uint32_t number) { return !passes(number); });

  Found found;
  found.tools = first;
  found.total = first.size();
  const Index::Terms terms = index_.terms(text);
  for (const auto& word : terms.words)
    if (word.documents == 0) found.unknown_words.push_back(word.text);
  if (text.empty()) {
    for (uint32_t number = 0; number < size(); number++)
      if (passes(number) && ++found.total <= query.limit) found.tools.push_back(number);
  } else if (terms.promising()) {
    Index::Mask mask;
    if (passes.filters() || !first.empty()) {
      mask.assign(size(), 1);
      for (uint32_t number = 0; passes.filters() && number < size(); number++) mask[number] = passes(number) ? 1 : 0;
      for (uint32_t number : first) mask[number] = 0;
    }
    const auto ranking = index_.rank(terms, std::max<size_t>(1, query.limit), mask);
    for (const auto& hit : ranking.hits) found.tools.push_back(hit.document);
    found.total += ranking.total;
    add_parts(found, text, query.limit, mask);
  }
  move_up(found, query, text, std::min(first.size(), found.tools.size()), passes);
  found.tools.resize(std::min(found.tools.size(), query.limit));
  if (found.total > 0 || text.empty()) return found;
  found.nearest = nearest(text);
  if (passes.filters()) found.elsewhere = terms.promising() ? index_.rank(terms, 1).total : exact(text).size();
  return found;
}

Named Catalog::find(std::string_view name, std::string_view category, std::string_view server) const {
  auto passing = [&](std::vector<uint32_t> all, std::string_view of_server) {
    const Filter passes(*this, category, of_server, {});
    std::erase_if(all, [&](uint32_t number) { return !passes(number); });
    return all;
  };
  Named meant;
  name = trimmed(name);
  meant.tools = passing(named(names_, folded(name)), server);
  if (std::any_of(meant.tools.begin(), meant.tools.end(), [&](uint32_t one) { return tool(one).name == name; }))
    std::erase_if(meant.tools, [&](uint32_t one) { return tool(one).name != name; });
  if (std::string_view rest = name; meant.tools.empty()) {
    const std::string prefix = take_server(rest);
    if (!prefix.empty() && (server.empty() || same_letters(server, prefix))) {
      meant.tools = passing(named(names_, folded(rest)), prefix);
      if (meant.tools.empty()) meant.tools = passing(named(segments_, folded(rest)), prefix);
    }
  }
  if (meant.tools.empty()) meant.tools = passing(named(segments_, folded(name)), server);
  if (meant.tools.empty()) meant.nearest = nearest(name);
  return meant;
}

size_t Catalog::bytes() const {
  return index_.bytes() + texts_.capacity() + records_.capacity() * sizeof(Record) +
         tag_ids_.capacity() * sizeof(uint32_t) + (names_.capacity() + segments_.capacity()) * sizeof(Name) +
         (categories_.size() + servers_.size()) * sizeof(Group) + tag_names_.size() * sizeof(std::string);
}

}  // namespace catalog
