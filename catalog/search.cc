// Search: finds tools by a text, and a tool by its name.
#include <algorithm>
#include <array>
#include <utility>

#include "catalog/catalog.h"
#include "supervisor/base/ascii.h"
#include "supervisor/base/trimmed.h"

namespace catalog {
namespace {

constexpr size_t kNearest = 3;
constexpr size_t kMovable = 200;  // ranked tools that learning may move
constexpr size_t kFewTools = 50;
constexpr ptrdiff_t kSentence = 3;  // the fewest words that make a sentence
constexpr double kLearned = 1.5;    // weight of learning, compared with a tool's part of the words
constexpr double kBehind = 0.999;   // a factor, for a place just behind another tool
constexpr double kStrong = 0.2;     // part of the query; measured, see README.md

// Equal except for case and separators: a stub's "google_drive" is the server "google-drive".
bool same_but_marks(std::string_view a, std::string_view b) {
  auto plain = [](char c) { return is_alnum(c) || static_cast<unsigned char>(c) >= 0x80 ? lower_case(c) : '_'; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return plain(x) == plain(y); });
}

// A query without the blanks and control characters around it.
std::string_view without_blanks(std::string_view text) {
  static constexpr auto kBlanks = [] {
    std::array<char, ' ' + 1> all{};
    for (size_t i = 0; i < all.size(); i++) all[i] = static_cast<char>(i);
    return all;
  }();
  return trimmed(text, {kBlanks.data(), kBlanks.size()});
}

// Counts only ASCII words: definitions have no words of other scripts.
bool is_sentence(const Index::Terms& terms) {
  const auto plain = [](const Index::Terms::Word& word) {
    return std::all_of(word.text.begin(), word.text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  };
  return std::count_if(terms.words.begin(), terms.words.end(), plain) >= kSentence;
}

void append_new(std::vector<uint32_t>& all, const std::vector<uint32_t>& more) {
  for (uint32_t value : more)
    if (std::find(all.begin(), all.end(), value) == all.end()) all.push_back(value);
}

}  // namespace

// Filter: the filters of a query, as numbers.
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
        if (is_same_word(catalog.tag_names_[id], tag)) ids.push_back(id);
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
  // Names that differ only in case are one name.
  static std::vector<bool> matching(const std::vector<Group>& groups, std::string_view name) {
    std::vector<bool> all(groups.size());
    for (size_t i = 0; i < groups.size(); i++) all[i] = is_same_word(groups[i].name, name);
    return all;
  }
  const Catalog& catalog_;
  std::optional<std::vector<bool>> categories_, servers_;
  std::vector<std::vector<uint32_t>> tags_;
};

std::vector<uint32_t> Catalog::exact(std::string_view text) const {
  const std::string plain = folded(text);
  std::vector<uint32_t> all = named(names_, plain);
  // If there are several spellings, the spelling in the query comes first.
  std::stable_partition(all.begin(), all.end(), [&](uint32_t number) { return tool(number).name == text; });
  append_new(all, named(segments_, plain));
  std::stable_partition(all.begin(), all.end(), [&](uint32_t number) { return is_callable(number); });
  return all;
}

std::string Catalog::take_server(std::string_view& text) const {
  std::string_view rest = text;
  if (rest.starts_with("mcp__")) rest.remove_prefix(5);  // as some clients show tools
  const Group* best = nullptr;
  std::string_view after;
  for (const Group& server : servers_) {
    if (server.name.empty() || rest.size() <= server.name.size()) continue;
    if (!same_but_marks(rest.substr(0, server.name.size()), server.name)) continue;
    for (std::string_view separator : kNameSeparators) {
      std::string_view tail = rest.substr(server.name.size());
      if (!tail.starts_with(separator) || tail.size() == separator.size()) continue;
      if (best && best->name.size() >= server.name.size()) break;
      best = &server;
      after = without_blanks(tail.substr(separator.size()));
      break;
    }
  }
  if (!best || after.empty()) return {};
  text = after;
  return best->name;
}

// Tools with similar names, then tools that share words with the text.
std::vector<uint32_t> Catalog::nearest_tools(std::string_view text, std::string_view server) const {
  struct Near {
    bool uncallable;
    unsigned distance;
    uint32_t tool;
    auto operator<=>(const Near&) const = default;
  };
  std::vector<uint32_t> all;
  const std::string plain = folded(text.substr(0, 4 * kMaxNameBytes));
  const unsigned limit = static_cast<unsigned>(plain.size() / 3);
  std::vector<Near> near;
  const Spelling spelling(plain);
  const Filter passes(*this, {}, server, {});
  std::string other;
  for (uint32_t number = 0; number < size() && plain.size() <= Spelling::kMaxBytes; number++) {
    const std::string_view name = tool(number).name;
    if (name.size() + limit < plain.size() || !passes(number)) continue;
    fold(name, other);
    if (other.size() > plain.size() + limit) continue;
    if (unsigned distance = spelling.distance(other); distance <= limit)
      near.push_back({!is_callable(number), distance, number});
  }
  std::sort(near.begin(), near.end());
  for (size_t i = 0; i < near.size() && i < kNearest; i++) all.push_back(near[i].tool);
  if (all.size() < kNearest) {
    Index::Mask mask;
    if (passes.filters()) {
      mask.assign(size(), 0);
      for (uint32_t number = 0; number < size(); number++) mask[number] = passes(number) ? 1 : 0;
    }
    const auto ranking = index_.rank(index_.corrected(index_.terms(text)), kNearest, mask);
    for (const auto& hit : ranking.hits) append_new(all, {hit.document});
    std::stable_partition(all.begin(), all.end(), [&](uint32_t number) { return is_callable(number); });
  }
  all.resize(std::min(all.size(), kNearest));
  return all;
}

std::string_view Catalog::nearest_server(std::string_view name) const {
  const std::string plain = folded(name.substr(0, kMaxLabelBytes));
  const Spelling spelling(plain);
  unsigned best = static_cast<unsigned>(plain.size() / 3) + 1;
  std::string_view nearest;
  for (const Group& server : servers_) {
    const std::string other = folded(server.name);
    // "github" for "github-mcp", or the other way round, is near, too.
    const bool inside = plain.size() > 2 && other.size() > 2 && (other.starts_with(plain) || plain.starts_with(other));
    const unsigned distance = inside ? 1 : spelling.distance(other);
    if (server.name.empty() || distance >= best) continue;
    best = distance;
    nearest = server.name;
  }
  return nearest;
}

void Catalog::list(ToolMatches& match, const std::vector<uint32_t>& tools, size_t named, size_t limit) const {
  for (size_t i = 0; i < tools.size(); i++) {
    auto& list = is_callable(tools[i]) ? match.tools : match.uncallable;
    if (list.size() == limit) continue;
    if (!is_callable(tools[i]) && list.empty()) match.names_uncallable = i < named;
    list.push_back(tools[i]);
  }
}

// Adds tools behind the exact names `first`: by their words, by learning, or by both. Tools that learning found without
// the words take at most some of the places.
void Catalog::rank(ToolMatches& match, const std::vector<uint32_t>& first, const Query& query, std::string_view text,
                   const Index::Terms& terms, const Filter& passes) const {
  Index::Mask mask;
  if (passes.filters() || !first.empty()) {
    mask.assign(size(), 1);
    for (uint32_t number = 0; passes.filters() && number < size(); number++) mask[number] = passes(number) ? 1 : 0;
    for (uint32_t number : first) mask[number] = 0;
  }
  struct Candidate {
    uint32_t tool;
    double worth;
  };
  std::vector<Candidate> all;
  const auto ranking = index_.rank(terms, query.learned ? std::max(query.limit, kMovable) : query.limit, mask);
  const double limit = index_.max(terms);
  for (const auto& hit : ranking.hits) all.push_back({hit.document, limit > 0 ? std::min(1.0, hit.score / limit) : 0});
  match.total += ranking.total;
  if (query.learned && first.size() < query.limit) {
    size_t positions = Learning::most_learned(query.limit);
    double most_in_doubt = all.empty() ? 1 : all.front().worth * kBehind;
    for (const auto& hint : query.learned->hints(index_, text, query.asker)) {
      const Named pos = find(hint.tool.name, {}, hint.tool.server);
      if (pos.tools.size() != 1) continue;
      const uint32_t number = pos.tools.front();
      if (tool(number).name != hint.tool.name || (!mask.empty() && mask[number] == 0)) continue;
      auto it =
          std::find_if(all.begin(), all.end(), [&](const Candidate& candidate) { return candidate.tool == number; });
      if (it == all.end()) {
        if (positions == 0) continue;
        positions--;
        match.total++;
        it = all.insert(all.end(), {number, 0});
      }
      const double worth = it->worth + kLearned * hint.part;
      it->worth = hint.doubtful ? std::max(it->worth, std::min(worth, most_in_doubt)) : worth;
      most_in_doubt *= hint.doubtful ? kBehind : 1;
    }
    std::stable_sort(all.begin(), all.end(), [&](const auto& a, const auto& b) {
      return std::pair(is_callable(a.tool), a.worth) > std::pair(is_callable(b.tool), b.worth);
    });
  }
  // The match is that of the tool that is listed first.
  const bool named = !first.empty() && (is_callable(first.front()) || all.empty() || !is_callable(all.front().tool));
  match.match = named || (!all.empty() && all.front().worth >= kStrong) ? Match::strong : Match::weak;
  std::vector<uint32_t> tools = first;
  for (const Candidate& candidate : all) tools.push_back(candidate.tool);
  list(match, tools, first.size(), query.limit);
}

ToolMatches Catalog::search(const Query& query) const {
  std::string_view text = without_blanks(query.text);
  std::string server = query.server;
  std::vector<uint32_t> first = exact(text);
  std::string_view rest = text;
  if (std::string prefix = first.empty() ? take_server(rest) : std::string();
      !prefix.empty() && (server.empty() || is_same_word(server, prefix))) {
    server = std::move(prefix);
    text = rest;
    first = exact(text);
  }
  const Filter passes(*this, query.category, server, query.tags);
  std::erase_if(first, [&](uint32_t number) { return !passes(number); });

  ToolMatches match;
  match.total = first.size();
  if (text.empty()) {
    for (uint32_t number = 0; number < size(); number++)
      if (passes(number) && ++match.total <= query.limit) list(match, {number}, 0, query.limit);
    match.match = Match::strong;
    return match;
  }
  const Index::Terms terms = index_.terms(text, query.thesaurus);
  for (const auto& word : terms.words)
    if (word.documents == 0) match.unknown_words.push_back(word.text);
  rank(match, first, query, text, terms, passes);
  if (match.total > 0) return match;
  match.nearest = nearest_tools(text);
  if (passes.filters()) {
    match.elsewhere = std::max(index_.rank(terms, 1).total, exact(text).size());
  } else if (is_sentence(terms) && size() > 0 && size() <= kFewTools) {
    // In a small catalog one of the tools may be the right one: listing some costs less than another search.
    match.guessed = true;
    match.total = size();
    std::vector<uint32_t> tools = std::exchange(match.nearest, {});
    for (uint32_t number = 0; number < size(); number++) append_new(tools, {number});
    list(match, tools, 0, query.limit);
  }
  return match;
}

Named Catalog::find(std::string_view name, std::string_view category, std::string_view server) const {
  Named intended;
  intended.tools = named_so(name, category, server);
  if (intended.tools.empty()) intended.nearest = nearest_tools(without_blanks(name));
  return intended;
}

std::vector<uint32_t> Catalog::named_so(std::string_view name, std::string_view category,
                                        std::string_view server) const {
  auto passing = [&](std::vector<uint32_t> all, std::string_view of_server) {
    const Filter passes(*this, category, of_server, {});
    std::erase_if(all, [&](uint32_t number) { return !passes(number); });
    return all;
  };
  name = without_blanks(name);
  std::vector<uint32_t> tools = passing(named(names_, folded(name)), server);
  if (std::any_of(tools.begin(), tools.end(), [&](uint32_t value) { return tool(value).name == name; }))
    std::erase_if(tools, [&](uint32_t value) { return tool(value).name != name; });
  if (std::string_view rest = name; tools.empty()) {
    const std::string prefix = take_server(rest);
    if (!prefix.empty() && (server.empty() || is_same_word(server, prefix))) {
      tools = passing(named(names_, folded(rest)), prefix);
      if (tools.empty()) tools = passing(named(segments_, folded(rest)), prefix);
    }
  }
  if (tools.empty()) tools = passing(named(segments_, folded(name)), server);
  if (std::any_of(tools.begin(), tools.end(), [&](uint32_t value) { return is_callable(value); }))
    std::erase_if(tools, [&](uint32_t value) { return !is_callable(value); });
  return tools;
}

}  // namespace catalog
