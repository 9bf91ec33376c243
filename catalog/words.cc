#include "catalog/words.h"

#include <libstemmer.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "supervisor/base/ascii.h"

namespace catalog {
namespace {

bool is_any_letter(char c) { return is_letter(c) || static_cast<unsigned char>(c) >= 0x80; }
bool is_in_word(char c) { return is_any_letter(c) || is_digit(c); }
bool is_joint(char c) { return c == '_' || c == '-'; }

enum class Script : uint8_t { separator, spaced, unspaced };

struct ScriptRange {
  char32_t first, last;
  Script script;
};

// Ranges beyond ASCII; characters in no range are written with spaces between words. Sorted.
constexpr ScriptRange kRanges[] = {
    {0x80, 0xA9, Script::separator},        // controls, signs
    {0xAB, 0xB4, Script::separator},        // but not the ordinal sign and micro
    {0xB6, 0xB9, Script::separator},        // middle dot, superscripts
    {0xBB, 0xBF, Script::separator},        // quotation marks, fractions
    {0x2000, 0x200B, Script::separator},    // spaces
    {0x200E, 0x2BFF, Script::separator},    // dashes, quotation marks, currencies, arrows, drawings
    {0x3000, 0x3004, Script::separator},    // the punctuation of Chinese and Japanese
    {0x3005, 0x3007, Script::unspaced},     // repeats a character
    {0x3008, 0x303F, Script::separator},    //
    {0x3040, 0x9FFF, Script::unspaced},     // kana, ideographs
    {0xAC00, 0xD7AF, Script::unspaced},     // Hangul
    {0xF900, 0xFAFF, Script::unspaced},     // ideographs for compatibility
    {0xFE10, 0xFE6F, Script::separator},    // forms of punctuation
    {0xFF01, 0xFF0F, Script::separator},    // wide punctuation, between wide digits and letters
    {0xFF1A, 0xFF20, Script::separator},    //
    {0xFF3B, 0xFF40, Script::separator},    //
    {0xFF5B, 0xFF65, Script::separator},    //
    {0xFF66, 0xFF9F, Script::unspaced},     // narrow kana
    {0x1F000, 0x1FAFF, Script::separator},  // pictures
    {0x20000, 0x3FFFF, Script::unspaced},   // more ideographs
};

struct Character {
  size_t bytes = 1;
  Script script = Script::spaced;
};

// The character at a byte of 0x80 or more. A byte of invalid UTF-8 is a letter of one byte.
Character character_at(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const size_t bytes = lead < 0xC2 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 1;
  if (bytes == 1 || bytes > text.size()) return {};
  char32_t point = lead & (0x7Fu >> bytes);
  for (size_t i = 1; i < bytes; i++) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xC0) != 0x80) return {};
    point = point << 6 | (next & 0x3Fu);
  }
  const auto* range = std::lower_bound(
      std::begin(kRanges), std::end(kRanges), point,
      [](const ScriptRange& script_range, char32_t requested) { return script_range.last < requested; });
  return {bytes, range != std::end(kRanges) && range->first <= point ? range->script : Script::spaced};
}

// The first character of a text that is not empty.
Character next_character(std::string_view text) {
  if (static_cast<unsigned char>(text[0]) >= 0x80) return character_at(text);
  return {1, is_in_word(text[0]) ? Script::spaced : Script::separator};
}

// The end of the first part of `run`. Digits belong to the letters before them: s3, oauth2, base64.
size_t part_end(std::string_view run) {
  size_t end = 1;
  for (; end < run.size(); end++) {
    char before = run[end - 1], here = run[end];
    if (is_joint(here)) break;
    if (is_upper(here) && !is_upper(before)) break;                                                   // read|File
    if (is_upper(before) && is_upper(here) && end + 1 < run.size() && is_lower(run[end + 1])) break;  // HTTP|Server
  }
  return end;
}

// Sorted for a binary search.
constexpr auto kStopWords = std::to_array<std::string_view>({
    "a",     "about",  "all",   "also",  "am",     "an",    "and",   "any",   "are",   "as",    "at",   "be",
    "been",  "being",  "but",   "by",    "can",    "could", "did",   "do",    "does",  "doing", "each", "for",
    "from",  "had",    "has",   "have",  "having", "he",    "help",  "her",   "here",  "hers",  "him",  "his",
    "how",   "i",      "if",    "in",    "into",   "is",    "it",    "its",   "just",  "let",   "lets", "like",
    "may",   "me",     "might", "mine",  "must",   "my",    "need",  "needs", "of",    "on",    "or",   "our",
    "ours",  "please", "shall", "she",   "should", "so",    "some",  "such",  "than",  "that",  "the",  "their",
    "them",  "then",   "there", "these", "they",   "this",  "those", "to",    "tool",  "tools", "us",   "use",
    "used",  "uses",   "using", "via",   "wanna",  "want",  "wants", "was",   "we",    "were",  "what", "when",
    "where", "which",  "who",   "whom",  "whose",  "why",   "will",  "with",  "would", "you",   "your", "yours",
});
static_assert(std::is_sorted(kStopWords.begin(), kStopWords.end()));

// Rests of words with apostrophes ("isn't" is read as isn, t), polite words, filling words and parts of web addresses.
// clang-format off
constexpr auto kQueryStopWords = std::to_array<std::string_view>({
    "actually", "again", "ain", "already", "although", "always", "anybody", "anyone", "anything", "anyway",
    "anywhere", "appreciate", "aren", "asap", "because", "both", "cannot", "cause", "com", "couldn", "curious", "d",
    "dear", "didn", "doesn", "don", "dont", "else", "enough", "especially", "etc", "even", "ever", "everybody",
    "everyone", "everything", "gonna", "got", "gotta", "hadn", "hasn", "haven", "hello", "herself", "hey", "hi",
    "himself", "hmm", "however", "http", "https", "im", "indeed", "instead", "isn", "itself", "ive", "kind", "kindly",
    "ll", "lot", "lots", "m", "many", "maybe", "mind", "mostly", "much", "myself", "nobody", "nothing", "now", "oh",
    "ok", "okay", "onto", "ourselves", "perhaps", "pls", "plz", "possible", "possibly", "probably", "quite", "rather",
    "re", "really", "s", "somebody", "somehow", "someone", "something", "sort", "still", "stuff", "sure", "t",
    "thank", "thanks", "themselves", "thing", "things", "though", "thx", "too", "upon", "ve", "very", "wasn", "well",
    "weren", "whatever", "whether", "while", "won", "wonder", "wondering", "wouldn", "www", "yeah", "yes", "yet",
    "yourself",
});
// clang-format on
static_assert(std::is_sorted(kQueryStopWords.begin(), kQueryStopWords.end()));

// Verbs of asking, praise, and the calendar: words of many sentences.
// clang-format off
constexpr auto kWeakQueryWords = std::to_array<std::string_view>({
    "able", "after", "april", "around", "august", "available", "away", "back", "before", "best", "better", "between",
    "big", "bring", "came", "certain", "check", "come", "current", "currently", "day", "days", "december", "detail",
    "detailed", "details", "different", "down", "during", "end", "exact", "exactly", "favorite", "february", "few",
    "find", "first", "following", "friday", "get", "getting", "give", "given", "gives", "go", "goes", "going", "good",
    "great", "happen", "happened", "happening", "info", "information", "interested", "january", "july", "june",
    "keep", "know", "last", "late", "later", "latest", "least", "left", "little", "look", "looking", "looks", "made",
    "make", "makes", "making", "march", "mean", "monday", "month", "months", "more", "morning", "most", "near", "new",
    "next", "nice", "night", "no", "not", "november", "october", "off", "old", "once", "one", "ones", "only", "other",
    "others", "out", "over", "own", "part", "past", "people", "planning", "provide", "put", "recent", "recently",
    "right", "same", "saturday", "say", "see", "september", "several", "show", "since", "soon", "specific", "sunday",
    "take", "tell", "think", "thursday", "time", "today", "together", "tomorrow", "tonight", "try", "trying",
    "tuesday", "two", "under", "until", "up", "various", "way", "ways", "wednesday", "week", "weekend", "weeks",
    "went", "within", "without", "work", "working", "year", "years", "yesterday",
});
// clang-format on
static_assert(std::is_sorted(kWeakQueryWords.begin(), kWeakQueryWords.end()));

}  // namespace

// The next run of one script: letters, digits and joints, or characters without spaces.
bool WordReader::next_run() {
  Character first;
  for (first.script = Script::separator; at_ < text_.size(); at_ += first.bytes) {
    first = next_character(text_.substr(at_));
    if (first.script != Script::separator) break;
  }
  const size_t begin = at_;
  while (at_ < text_.size()) {
    const Character here = next_character(text_.substr(at_));
    const bool joint = first.script == Script::spaced && is_joint(text_[at_]);
    if (here.script != first.script && !joint) break;
    at_ += here.bytes;
  }
  run_ = text_.substr(begin, at_ - begin);
  joined_.clear();
  parts_ = 0;
  if (first.script == Script::unspaced) {
    pairs_ = std::exchange(run_, {});
    first_pair_ = true;
    return true;
  }
  while (!run_.empty() && is_joint(run_.back())) run_.remove_suffix(1);
  return !run_.empty();
}

// n characters give n - 1 pairs; a single character gives itself.
bool WordReader::next_pair(Word& word) {
  const size_t value = character_at(pairs_).bytes;
  const size_t two = value < pairs_.size() ? character_at(pairs_.substr(value)).bytes : 0;
  const bool alone = std::exchange(first_pair_, false);
  if (two == 0 && !alone) {
    pairs_ = {};
    return false;
  }
  word.text = pairs_.substr(0, value + two);
  word.form = Word::Form::part;
  pairs_.remove_prefix(value);
  return true;
}

bool WordReader::next(Word& word) {
  for (;;) {
    if (!pairs_.empty() && next_pair(word)) return true;
    while (!run_.empty() && is_joint(run_.front())) run_.remove_prefix(1);
    if (run_.empty()) {
      bool join = std::exchange(parts_, 0) > 1 && joined_.size() <= kMaxWordBytes;
      if (join) {
        word.text = joined_;
        word.form = Word::Form::joined;
        return true;
      }
      if (!next_run()) return false;
      if (!pairs_.empty()) continue;
    }
    std::string_view part = run_.substr(0, part_end(run_));
    run_.remove_prefix(part.size());
    parts_++;
    word.text.clear();
    for (char c : part) word.text += lower_case(c);
    if (joined_.size() <= kMaxWordBytes) joined_ += word.text;
    word.form = Word::Form::part;
    if (part.size() <= kMaxWordBytes) return true;
  }
}

std::string_view Stemmer::stem(std::string_view word) const {
  struct Delete {
    void operator()(sb_stemmer* stemmer) const { sb_stemmer_delete(stemmer); }
  };
  // A stemmer holds its last result, and searches run on several threads.
  thread_local const std::unique_ptr<sb_stemmer, Delete> stemmer(sb_stemmer_new("english", "UTF_8"));
  if (stemmer == nullptr) throw std::bad_alloc();  // the algorithm is compiled in: only memory can be missing
  const auto* stemmed =
      sb_stemmer_stem(stemmer.get(), reinterpret_cast<const sb_symbol*>(word.data()), static_cast<int>(word.size()));
  if (stemmed == nullptr) throw std::bad_alloc();
  return {reinterpret_cast<const char*>(stemmed), static_cast<size_t>(sb_stemmer_length(stemmer.get()))};
}

bool is_stop_word(std::string_view word) { return std::binary_search(kStopWords.begin(), kStopWords.end(), word); }

bool is_query_stop_word(std::string_view word) {
  return std::binary_search(kQueryStopWords.begin(), kQueryStopWords.end(), word);
}

bool is_weak_query_word(std::string_view word) {
  return std::binary_search(kWeakQueryWords.begin(), kWeakQueryWords.end(), word);
}

void fold(std::string_view name, std::string& into) {
  into.resize(name.size());
  size_t size = 0;
  for (char c : name)
    if (is_in_word(c)) into[size++] = lower_case(c);
  if (size > 0) {
    into.resize(size);
  } else {
    into = name;
  }
}

std::string folded(std::string_view name) {
  std::string text;
  fold(name, text);
  return text;
}

bool within_one_edit(std::string_view a, std::string_view b) {
  if (a.size() > b.size()) std::swap(a, b);
  if (b.size() - a.size() > 1) return false;
  while (!a.empty() && a.front() == b.front()) {
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  while (!a.empty() && a.back() == b.back()) {
    a.remove_suffix(1);
    b.remove_suffix(1);
  }
  if (b.size() <= 1) return true;
  return a.size() == 2 && b.size() == 2 && a[0] == b[1] && a[1] == b[0];
}

Spelling::Spelling(std::string_view text) : text_(text) {
  for (size_t i = 0; i < text.size() && i < kMaxBytes; i++)
    positions_[static_cast<unsigned char>(text[i])] |= uint64_t{1} << i;
}

// Myers, "A fast bit-vector algorithm for approximate string matching" (1999), in Hyyro's form for whole strings.
unsigned Spelling::distance(std::string_view other) const {
  if (text_.size() > kMaxBytes || other.size() > kMaxBytes) return text_ == other ? 0 : kFar;
  if (text_.empty() || other.empty()) return static_cast<unsigned>(std::max(text_.size(), other.size()));
  uint64_t up = ~uint64_t{0}, down = 0;
  const uint64_t last = uint64_t{1} << (text_.size() - 1);
  unsigned distance = static_cast<unsigned>(text_.size());
  for (char c : other) {
    uint64_t match = positions_[static_cast<unsigned char>(c)];
    uint64_t zero = (((match & up) + up) ^ up) | match | down;
    uint64_t right = down | ~(zero | up), remainder = up & zero;
    if (right & last) distance++;
    if (remainder & last) distance--;
    right = (right << 1) | 1;
    remainder <<= 1;
    up = remainder | ~(zero | right);
    down = right & zero;
  }
  return distance;
}

}  // namespace catalog
