// Thesaurus: English words with the same or a wider meaning, from WordNet's database files (wndb(5WN)).
// Source: Debian's package wordnet-base, /usr/share/wordnet; optional, the search works without it. Read once after the
// start, in slices. Only single words; of each word only the first senses, which are the most common. Memory: about 4
// MB.
#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/result.h"

namespace catalog {

constexpr const char* kWordNetFolder = "/usr/share/wordnet";

class Thesaurus {
 public:
  enum class Kind : uint8_t { synonym, wider };  // wider: a direct hypernym, as "animal" is of "dog"
  struct Related {
    std::string_view stem;  // as Stemmer makes it
    Kind kind;
  };

  // Whether it is an English word, in any of its forms.
  bool knows(std::string_view word) const { return !base_form(word).empty(); }
  // "bought" to "buy", "children" to "child", "flights" to "flight"; empty: an unknown word.
  std::string_view base_form(std::string_view word) const;
  // Relations of a base form; synonyms come before wider words.
  std::vector<Related> related(std::string_view base) const;

  size_t size() const { return word_ends_.size(); }
  size_t bytes() const;

 private:
  friend class ThesaurusLoading;
  static constexpr uint32_t kNone = ~uint32_t{0};
  struct Irregular {
    uint32_t begin, base;  // position in irregular_texts_; number of the base word
    uint8_t length;
  };
  std::string_view word(uint32_t number) const;
  std::string_view stem(uint32_t number) const;
  uint32_t find(std::string_view text) const;

  std::string words_;  // sorted
  std::vector<uint32_t> word_ends_;
  std::string stems_;
  std::vector<uint32_t> stem_ends_;
  std::vector<uint32_t> related_ends_;  // end in related_, for each word
  std::vector<uint32_t> related_;       // stem << 1 | wider
  std::string irregular_texts_;
  std::vector<Irregular> irregular_;  // sorted by text
};

// ThesaurusLoading: reads the files in slices, so that a daemon can serve requests meanwhile. The check is strict:
// files that break wndb(5WN), or are larger than any WordNet, are refused as a whole.
class ThesaurusLoading {
 public:
  explicit ThesaurusLoading(std::string folder);
  ~ThesaurusLoading();
  ThesaurusLoading(ThesaurusLoading&&) noexcept;
  ThesaurusLoading& operator=(ThesaurusLoading&&) noexcept;
  // True when the thesaurus is complete. Stops at the first line after `slice`. One read of a file is one step, of up
  // to 10 ms. Errors: not_found: no such folder or file; invalid: not the format, with file and line.
  Result<bool> step(std::chrono::microseconds slice);
  // After the last step.
  std::shared_ptr<const Thesaurus> take();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Runs a ThesaurusLoading to its end.
Result<std::shared_ptr<const Thesaurus>> load_thesaurus(const std::string& folder);

}  // namespace catalog
