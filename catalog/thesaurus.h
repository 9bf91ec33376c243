// Thesaurus: which English words mean the same or something wider, from WordNet's database files (wndb(5WN)).
// Source: Debian's package wordnet-base, /usr/share/wordnet; optional, the search works without. Read once after the
// start, in slices. Words of one part only; of each word the first senses, which are its commonest.
// Memory: about 4 MB.
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
  // "bought" to "buy", "children" to "child", "flights" to "flight"; empty: no word that is known.
  std::string_view base_form(std::string_view word) const;
  // Of a base form; synonyms before what is wider.
  std::vector<Related> related(std::string_view base) const;

  size_t size() const { return word_ends_.size(); }
  size_t bytes() const;

 private:
  friend class ThesaurusLoading;
  static constexpr uint32_t kNone = ~uint32_t{0};
  struct Irregular {
    uint32_t begin, base;  // in irregular_texts_, a word
    uint8_t length;
  };
  std::string_view word(uint32_t number) const;
  std::string_view stem(uint32_t number) const;
  uint32_t find(std::string_view text) const;

  std::string words_;  // sorted
  std::vector<uint32_t> word_ends_;
  std::string stems_;
  std::vector<uint32_t> stem_ends_;
  std::vector<uint32_t> related_ends_;  // of each word
  std::vector<uint32_t> related_;       // stem << 1 | wider
  std::string irregular_texts_;
  std::vector<Irregular> irregular_;  // sorted by text
};

// Reads the files in slices, so that a daemon goes on serving meanwhile. All of them are checked strictly: files that
// are not as wndb(5WN) says, or larger than any WordNet, are refused as a whole.
class ThesaurusLoading {
 public:
  explicit ThesaurusLoading(std::string folder);
  ~ThesaurusLoading();
  ThesaurusLoading(ThesaurusLoading&&) noexcept;
  ThesaurusLoading& operator=(ThesaurusLoading&&) noexcept;
  // True when it is complete. Stops at the first line after `slice`; reading a file whole is one step, of up to 10 ms.
  // Errors: not_found: no such folder or file; invalid: not the format, with file and line.
  Result<bool> step(std::chrono::microseconds slice);
  // After the last step.
  std::shared_ptr<const Thesaurus> take();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// All at once.
Result<std::shared_ptr<const Thesaurus>> load_thesaurus(const std::string& folder);

}  // namespace catalog
