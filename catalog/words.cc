#include "catalog/words.h"

#include <libstemmer.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <new>
#include <utility>

namespace catalog {
namespace {

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return is_lower(c) || is_upper(c) || static_cast<unsigned char>(c) >= 0x80; }
bool is_word(char c) { return is_letter(c) || is_digit(c); }
bool is_joint(char c) { return c == '_' || c == '-'; }
char lower(char c) { return is_upper(c) ? static_cast<char>(c + 32) : c; }

// Where the part that begins `run` ends. Digits belong to what stands before them: s3, oauth2, base64.
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

// Sorted: looked up by halving.
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

}  // namespace

bool WordReader::next_run() {
  while (at_ < text_.size() && !is_word(text_[at_])) at_++;
  size_t begin = at_;
  while (at_ < text_.size() && (is_word(text_[at_]) || (is_joint(text_[at_]) && at_ > begin))) at_++;
  run_ = text_.substr(begin, at_ - begin);
  while (!run_.empty() && is_joint(run_.back())) run_.remove_suffix(1);
  joined_.clear();
  parts_ = 0;
  return !run_.empty();
}

bool WordReader::next(Word& word) {
  for (;;) {
    while (!run_.empty() && is_joint(run_.front())) run_.remove_prefix(1);
    if (run_.empty()) {
      bool join = std::exchange(parts_, 0) > 1 && joined_.size() <= kMaxWordBytes;
      if (join) {
        word.text = joined_;
        word.form = Word::Form::joined;
        return true;
      }
      if (!next_run()) return false;
    }
    std::string_view part = run_.substr(0, part_end(run_));
    run_.remove_prefix(part.size());
    parts_++;
    word.text.clear();
    for (char c : part) word.text += lower(c);
    if (joined_.size() <= kMaxWordBytes) joined_ += word.text;
    word.form = Word::Form::part;
    if (part.size() <= kMaxWordBytes) return true;
  }
}

Stemmer::Stemmer() : stemmer_(sb_stemmer_new("english", "UTF_8")) {
  if (stemmer_ == nullptr) throw std::bad_alloc();  // the algorithm is compiled in: only memory can be missing
}
Stemmer::~Stemmer() { sb_stemmer_delete(stemmer_); }
Stemmer::Stemmer(Stemmer&& other) noexcept : stemmer_(std::exchange(other.stemmer_, nullptr)) {}
Stemmer& Stemmer::operator=(Stemmer&& other) noexcept {
  std::swap(stemmer_, other.stemmer_);
  return *this;
}

std::string_view Stemmer::stem(std::string_view word) const {
  const auto* stemmed =
      sb_stemmer_stem(stemmer_, reinterpret_cast<const sb_symbol*>(word.data()), static_cast<int>(word.size()));
  if (stemmed == nullptr) throw std::bad_alloc();
  return {reinterpret_cast<const char*>(stemmed), static_cast<size_t>(sb_stemmer_length(stemmer_))};
}

bool is_stop_word(std::string_view word) { return std::binary_search(kStopWords.begin(), kStopWords.end(), word); }

void fold(std::string_view name, std::string& into) {
  into.resize(name.size());
  size_t size = 0;
  for (char c : name)
    if (is_word(c)) into[size++] = lower(c);
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

Spelling::Spelling(std::string_view text) : text_(text) {
  for (size_t i = 0; i < text.size() && i < kMaxBytes; i++)
    places_[static_cast<unsigned char>(text[i])] |= uint64_t{1} << i;
}

// Myers, "A fast bit-vector algorithm for approximate string matching" (1999), in Hyyro's form for whole strings.
unsigned Spelling::distance(std::string_view other) const {
  if (text_.size() > kMaxBytes || other.size() > kMaxBytes) return text_ == other ? 0 : kFar;
  if (text_.empty() || other.empty()) return static_cast<unsigned>(std::max(text_.size(), other.size()));
  uint64_t up = ~uint64_t{0}, down = 0;
  const uint64_t last = uint64_t{1} << (text_.size() - 1);
  unsigned distance = static_cast<unsigned>(text_.size());
  for (char c : other) {
    uint64_t match = places_[static_cast<unsigned char>(c)];
    uint64_t zero = (((match & up) + up) ^ up) | match | down;
    uint64_t right = down | ~(zero | up), left = up & zero;
    if (right & last) distance++;
    if (left & last) distance--;
    right = (right << 1) | 1;
    left <<= 1;
    up = left | ~(zero | right);
    down = right & zero;
  }
  return distance;
}

}  // namespace catalog
