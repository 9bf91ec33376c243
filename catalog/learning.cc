#include "catalog/learning.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace catalog {
namespace {

constexpr size_t kCompared = 16;  // most similar searches whose tools are looked at

uint64_t hash(std::string_view text) {  // FNV-1a
  uint64_t h = 14695981039346656037u;
  for (char c : text) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return h;
}

// The cosine of two sets of weighed words, 0 to 1. Both sorted by stem; a word weighs the same in both.
template <class Words>
double similarity(const Words& a, const Words& b) {
  double shared = 0;
  auto at = a.all.begin();
  auto other = b.all.begin();
  while (at != a.all.end() && other != b.all.end()) {
    if (at->stem < other->stem) {
      ++at;
    } else if (other->stem < at->stem) {
      ++other;
    } else {
      shared += std::min(at->weight, other->weight);
      ++at, ++other;
    }
  }
  return shared == 0 ? 0 : shared / std::sqrt(a.weight * b.weight);
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
  auto has = std::find(known->tools.begin(), known->tools.end(), tool);
  if (has == known->tools.end() && known->tools.size() < limits_.tools) known->tools.push_back(tool);
}

void Learning::make_room(Monotonic::time_point now) {
  std::erase_if(searches_, [&](const Search& search) { return now - search.taught > limits_.lifetime; });
  if (searches_.size() < limits_.searches) return;
  searches_.erase(std::min_element(searches_.begin(), searches_.end(),
                                   [](const Search& a, const Search& b) { return a.taught < b.taught; }));
}

size_t Learning::searches_of(const Tool& tool) const {
  return static_cast<size_t>(std::count_if(searches_.begin(), searches_.end(), [&](const Search& search) {
    return std::find(search.tools.begin(), search.tools.end(), tool) != search.tools.end();
  }));
}

std::vector<Learning::Hint> Learning::hints(const Index& index, std::string_view query) const {
  std::vector<Hint> all;
  if (searches_.empty()) return all;
  const Words words = words_of(index, query);
  std::vector<std::pair<double, const Search*>> similar;
  for (const Search& search : searches_) {
    const double same = similarity(words, search.words);
    if (same >= kSimilar) similar.emplace_back(same, &search);
  }
  std::stable_sort(similar.begin(), similar.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  similar.resize(std::min(similar.size(), kCompared));
  for (const auto& [same, similar_one] : similar) {
    const Search& search = *similar_one;
    for (const Tool& tool : search.tools) {
      // Which of its tools a part of it needed is not known. The one that few searches led to, most likely; the more
      // there are, the more alike it has to be for the others.
      const bool is_rarest = std::all_of(search.tools.begin(), search.tools.end(), [&](const Tool& other) {
        return other == tool || searches_of(tool) < searches_of(other);
      });
      const double alike = is_rarest ? same : std::pow(same, static_cast<double>(search.tools.size()));
      if (alike < kSimilar) continue;
      auto known = std::find_if(all.begin(), all.end(), [&](const Hint& hint) { return hint.tool == tool; });
      if (known == all.end()) {
        all.push_back({tool, alike});
      } else {
        known->similarity = std::max(known->similarity, alike);
      }
    }
  }
  std::sort(all.begin(), all.end(), [](const Hint& a, const Hint& b) {
    if (a.similarity != b.similarity) return a.similarity > b.similarity;
    return std::tie(a.tool.server, a.tool.name) < std::tie(b.tool.server, b.tool.name);
  });
  return all;
}

void Learning::forget(const Tool& tool) {
  for (Search& search : searches_) std::erase(search.tools, tool);
  std::erase_if(searches_, [](const Search& search) { return search.tools.empty(); });
}

}  // namespace catalog
