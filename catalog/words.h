// Words: splits text into words for the search. Identifiers are split (camelCase, snake_case, kebab-case) and also read
// joined: "createIssue" is create, issue and the joined createissue. ASCII is lower-cased. Other UTF-8 stays as it is,
// but Chinese, Japanese and Korean, which have no spaces, are read as pairs of characters.
// Used for definitions and for queries alike, so that both have the same words.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace catalog {

constexpr size_t kMaxWordBytes = 48;  // longer runs are data, not words

struct Word {
  enum class Form { part, joined };  // joined: several parts written as one identifier
  std::string text;
  Form form = Form::part;
};

// Reads the words of a text one by one. The text must outlive the reader.
class WordReader {
 public:
  explicit WordReader(std::string_view text) : text_(text) {}
  // False at the end.
  bool next(Word& word);

 private:
  bool next_run();
  bool next_pair(Word& word);
  std::string_view text_;
  size_t at_ = 0;
  std::string_view run_;  // the rest of one identifier
  std::string joined_;    // its parts so far
  size_t parts_ = 0;
  std::string_view pairs_;   // the rest of a run without spaces
  bool first_pair_ = false;  // of that run
};

// Stemmer: Porter2 for English (libstemmer). Not for two threads at the same time.
class Stemmer {
 public:
  // The result is valid until the next call on the same thread, of any Stemmer.
  std::string_view stem(std::string_view word) const;
};

// Words without meaning for a search: "the", "please", "how".
bool is_stop_word(std::string_view word);
// Words around a wish that names of tools may also have: "thanks", "somebody", "www". Left out of queries, used in
// definitions.
bool is_query_stop_word(std::string_view word);
// Words that say little about the wanted tool: "show", "latest", "tomorrow".
bool is_weak_query_word(std::string_view word);

// A name without case and separators, "Create-Issue" as "createissue", to compare spellings. A name of separators only
// stays as it is.
std::string folded(std::string_view name);
void fold(std::string_view name, std::string& into);  // for many names: reuses `into`

// Whether one edit turns `a` into `b`: a byte added, removed or replaced, or two neighbours swapped.
bool within_one_edit(std::string_view a, std::string_view b);

// Spelling: compares many texts with one. A distance is the number of edits (insert, delete, replace a byte) between
// two texts.
class Spelling {
 public:
  static constexpr size_t kMaxBytes = 64;
  static constexpr unsigned kFar = 64;  // distance to any longer text
  explicit Spelling(std::string_view text);
  unsigned distance(std::string_view other) const;

 private:
  std::string text_;
  std::array<uint64_t, 256> positions_{};  // bit i: text_[i] is this byte
};

}  // namespace catalog
