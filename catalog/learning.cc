#include "catalog/learning.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace catalog {
namespace {

constexpr double kDoubt = 0.5;   // searches that might have led elsewhere, beside those that have a word
constexpr double kOthers = 50;   // searches for anything, beside those that are known: while there are few
constexpr double kLeast = 0.06;  // of what is searched: a tool that means less is no hint
constexpr size_t kMaxHints = 8;

uint64_t hash(std::string_view text) {  // FNV-1a
  uint64_t h = 14695981039346656037u;
  for (char c : text) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return h;
}

}  // namespace

Learning::Words Learning::words_of(const Index& index, std::string_view query) const {
  Words words;
  for (const auto& word : index.terms(query).words) {
    const double tools = static_cast<double>(index.documents());
    const double weight = std::log(1 + (tools + 1) / (word.documents + 1));
    words.all.push_back({hash(stemmer_.stem(word.text)), weight});
  }
  std::sort(words.all.begin(), words.all.end(), [](const Word& a, const Word& b) { return a.stem < b.stem; });
  words.all.erase(
      std::unique(words.all.begin(), words.all.end(), [](const Word& a, const Word& b) { return a.stem == b.stem; }),
      words.all.end());
  for (const Word& word : words.all) words.weight += word.weight;
  return words;
}

void Learning::teach(const Index& index, std::string_view query, const Tool& tool, Monotonic::time_point now) {
  Words words = words_of(index, query);
  if (words.all.empty()) return;
  auto same = [&](const Search& search) {
    return std::equal(search.words.all.begin(), search.words.all.end(), words.all.begin(), words.all.end(),
                      [](const Word& a, const Word& b) { return a.stem == b.stem; });
  };
  auto known = std::find_if(searches_.begin(), searches_.end(), same);
  if (known == searches_.end()) {
    make_room(now);
    known = searches_.insert(searches_.end(), Search{std::move(words), {}, now});
  }
  known->taught = now;
  const uint32_t place = place_of(tool);
  auto& tools = known->tools;
  if (tools.size() >= limits_.tools || std::find(tools.begin(), tools.end(), place) != tools.end()) return;
  tools.push_back(place);
  chosen_[place].searches++;
}

uint32_t Learning::place_of(const Tool& tool) {
  auto at = std::find_if(chosen_.begin(), chosen_.end(),
                         [&](const Chosen& one) { return one.searches > 0 && one.tool == tool; });
  if (at == chosen_.end())
    at = std::find_if(chosen_.begin(), chosen_.end(), [](const Chosen& one) { return one.searches == 0; });
  if (at == chosen_.end()) at = chosen_.insert(at, Chosen{});
  if (at->searches == 0) at->tool = tool;
  return static_cast<uint32_t>(at - chosen_.begin());
}

void Learning::drop(Search& search) {
  for (uint32_t tool : search.tools) chosen_[tool].searches--;
  search.tools.clear();
}

void Learning::make_room(Monotonic::time_point now) {
  for (Search& search : searches_)
    if (now - search.taught > limits_.lifetime) drop(search);
  std::erase_if(searches_, [](const Search& search) { return search.tools.empty(); });
  if (searches_.size() < limits_.searches) return;
  const auto oldest = std::min_element(searches_.begin(), searches_.end(),
                                       [](const Search& a, const Search& b) { return a.taught < b.taught; });
  drop(*oldest);
  searches_.erase(oldest);
}

// Which tools a word means, by the searches that have it: how often they led to the tool, less how often any search
// does.
std::vector<Learning::Meaning> Learning::meanings(const std::vector<const Search*>& searches) const {
  std::vector<Meaning> all;
  std::vector<uint32_t> times(chosen_.size());
  for (const Search* search : searches)
    for (uint32_t tool : search->tools)
      if (times[tool]++ == 0) all.push_back({tool, 0});
  const double having = static_cast<double>(searches.size()) + kDoubt;
  const double known = static_cast<double>(searches_.size()) + kOthers;
  for (Meaning& one : all) one.part = times[one.tool] / having - chosen_[one.tool].searches / known;
  std::erase_if(all, [](const Meaning& one) { return one.part <= 0; });
  return all;
}

std::vector<Learning::Hint> Learning::hints(const Index& index, std::string_view query) const {
  std::vector<Hint> all;
  const Words words = words_of(index, query);
  if (searches_.empty() || words.all.empty()) return all;
  std::vector<std::vector<const Search*>> having(words.all.size());
  for (const Search& search : searches_) {
    auto known = search.words.all.begin();
    for (size_t i = 0; i < words.all.size(); i++) {
      while (known != search.words.all.end() && known->stem < words.all[i].stem) ++known;
      if (known == search.words.all.end()) break;
      if (known->stem == words.all[i].stem) having[i].push_back(&search);
    }
  }
  std::vector<std::vector<Meaning>> meant;
  for (const auto& searches : having) meant.push_back(meanings(searches));
  std::vector<double> open;  // of each word's weight, what no hint accounts for yet
  for (const Word& word : words.all) open.push_back(word.weight);
  std::vector<double> parts(chosen_.size());
  while (all.size() < kMaxHints) {
    std::fill(parts.begin(), parts.end(), 0);
    for (size_t i = 0; i < meant.size(); i++)
      for (const Meaning& one : meant[i]) parts[one.tool] += open[i] * one.part / words.weight;
    uint32_t best = 0;
    for (uint32_t tool = 0; tool < parts.size(); tool++) {
      if (parts[tool] > parts[best] ||
          (parts[tool] == parts[best] && std::tie(chosen_[tool].tool.server, chosen_[tool].tool.name) <
                                             std::tie(chosen_[best].tool.server, chosen_[best].tool.name)))
        best = tool;
    }
    if (parts[best] < kLeast) break;
    all.push_back({chosen_[best].tool, parts[best]});
    for (size_t i = 0; i < meant.size(); i++) {
      for (const Meaning& one : meant[i])
        if (one.tool == best) open[i] *= 1 - one.part;
      std::erase_if(meant[i], [&](const Meaning& one) { return one.tool == best; });
    }
  }
  return all;
}

void Learning::forget(const Tool& tool) {
  for (Search& search : searches_)
    std::erase_if(search.tools, [&](uint32_t place) {
      if (chosen_[place].tool != tool) return false;
      chosen_[place].searches--;
      return true;
    });
  std::erase_if(searches_, [](const Search& search) { return search.tools.empty(); });
}

void Learning::forget_all() {
  searches_.clear();
  chosen_.clear();
}

}  // namespace catalog
