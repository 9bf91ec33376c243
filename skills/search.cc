#include "skills/search.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "supervisor/base/ascii.h"

namespace skills {
namespace {

constexpr size_t kMaxQuery = 1000;

// Words in lower case: runs of letters, digits and bytes beyond ASCII.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words(1);
  for (char c : text) {
    if (is_alnum(c) || (c & 0x80)) {
      words.back() += lower_case(c);
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

// The words of a text, each once, in the order of std::less.
std::vector<std::string> sorted_words_of(std::string_view text) {
  std::vector<std::string> words = words_of(text);
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  return words;
}

bool has_beginning_of(const std::vector<std::string>& words, std::string_view request) {
  constexpr size_t kFewestLetters = 4;
  for (size_t size = kFewestLetters; size < request.size(); size++)
    if (std::binary_search(words.begin(), words.end(), request.substr(0, size), std::less<>())) return true;
  return false;
}

// A name is worth more than a description, a whole word more than its beginning. `words`: sorted.
unsigned worth(const std::string& request, const std::vector<std::string>& words, unsigned full) {
  const auto next = std::lower_bound(words.begin(), words.end(), request);
  if (next != words.end() && *next == request) return full;
  if (request.size() <= 2) return 0;
  return (next != words.end() && next->starts_with(request)) || has_beginning_of(words, request) ? full / 2 : 0;
}

struct Score {
  unsigned points = 0;
  size_t words = 0;  // words of the query that the skill has
};

Result<Score> score(const std::vector<std::string>& query, const Skill& skill, WorkMeter& meter) {
  constexpr uint64_t kStepsPerByte = 8;  // of the texts, which are sorted, and of the query's words
  uint64_t bytes = skill.slug.size() + skill.description.size();
  for (const std::string& word : query) bytes += word.size();
  if (!meter.spend(kStepsPerByte * bytes)) return tl::unexpected<Error>(meter.error());
  const auto name = sorted_words_of(skill.slug), description = sorted_words_of(skill.description);
  Score sum;
  for (const std::string& word : query) {
    const unsigned points = std::max(worth(word, name, 8), worth(word, description, 4));
    sum.points += points;
    if (points > 0) sum.words++;
  }
  return sum;
}

Result<std::vector<SkillMatch>> ranked(const std::vector<SkillMatch>& among, const std::vector<std::string>& words,
                                       size_t min_words, WorkMeter& meter) {
  if (words.empty()) return among;
  std::vector<std::pair<unsigned, const SkillMatch*>> fit;
  for (const SkillMatch& item : among) {
    TRY(const Score sum, score(words, *item.skill, meter));
    if (sum.words >= min_words) fit.emplace_back(sum.points, &item);
  }
  std::stable_sort(fit.begin(), fit.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<SkillMatch> match;
  for (const auto& [points, one] : fit) match.push_back(*one);
  return match;
}

}  // namespace

Result<std::vector<SkillMatch>> search(const std::vector<SkillMatch>& among, std::string_view query, WorkMeter& meter) {
  return ranked(among, words_of(query.substr(0, kMaxQuery)), 1, meter);
}

Result<std::vector<SkillMatch>> fitting(const std::vector<SkillMatch>& among, std::string_view query,
                                        WorkMeter& meter) {
  const auto words = words_of(query.substr(0, kMaxQuery));
  return ranked(among, words, std::max(words.size() / 3 + 1, std::min<size_t>(words.size(), 2)), meter);
}

}  // namespace skills
