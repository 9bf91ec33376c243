// Words: text as the search sees it. Identifiers are split (camelCase, snake_case, kebab-case) and also kept joined:
// "createIssue" reads as create, issue and the joined createissue. ASCII is lower-cased; other UTF-8 is left as it is,
// except that Chinese, Japanese and Korean, which have no spaces to split at, are read as pairs of characters.
// Used for definitions and for queries alike, so that both sides agree on what a word is.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

struct sb_stemmer;

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
  std::string_view run_;  // one identifier, what is left of it
  std::string joined_;    // its parts so far
  size_t parts_ = 0;
  std::string_view pairs_;   // a run without spaces, what is left of it
  bool first_pair_ = false;  // of that run
};

// Porter2 for English (libstemmer). Not for two threads at once.
class Stemmer {
 public:
  Stemmer();
  ~Stemmer();
  Stemmer(Stemmer&&) noexcept;
  Stemmer& operator=(Stemmer&&) noexcept;
  // Valid until the next call.
  std::string_view stem(std::string_view word) const;

 private:
  sb_stemmer* stemmer_;
};

// Words that a sentence needs and a search does not: "the", "please", "how".
bool is_stop_word(std::string_view word);
// Words that people use around what they want done, and that names of tools may have: "thanks", "somebody", "www".
// Left out of queries, kept in definitions.
bool is_query_stop_word(std::string_view word);
// Words that say little about which tool is meant, but something: "show", "latest", "tomorrow".
bool is_weak_query_word(std::string_view word);

// A name without case and separators, "Create-Issue" as "createissue": what makes two spellings one name. One of
// separators only stays as it is.
std::string folded(std::string_view name);
void fold(std::string_view name, std::string& into);  // the same, for many

// Whether one edit makes one of the other: a byte put in, left out or replaced, or two neighbours swapped.
bool within_one_edit(std::string_view a, std::string_view b);

// Compares many texts with one. Distances are edits (insert, delete, replace a byte) that make one of the other.
class Spelling {
 public:
  static constexpr size_t kMaxBytes = 64;
  static constexpr unsigned kFar = 64;  // of anything longer
  explicit Spelling(std::string_view text);
  unsigned distance(std::string_view other) const;

 private:
  std::string text_;
  std::array<uint64_t, 256> places_{};  // bit i: text_[i] is this byte
};

}  // namespace catalog
