// Matches a query's words with the vocabulary: which words count, their weight, and substitutes for unknown words.
#include <algorithm>

#include "catalog/everyday_words.h"
#include "catalog/index.h"
#include "catalog/thesaurus.h"
#include "supervisor/base/ascii.h"
#include "supervisor/base/fnv.h"

namespace catalog {
namespace {

// Weights, in parts of Index::kFull.
constexpr int32_t kWeak = 20;      // a word that says little about the wanted tool
constexpr int32_t kNumber = 20;    // a number is usually an argument, not a tool
constexpr int32_t kLetter = 13;    // a single letter
constexpr int32_t kMended = 38;    // one edit away
constexpr int32_t kBaseForm = 51;  // "buy" for "bought"
constexpr int32_t kSame = 24;      // from the list of everyday words
constexpr int32_t kHint = 16;
constexpr int32_t kSynonym = 13;  // from the thesaurus
constexpr int32_t kWider = 6;

constexpr size_t kMinMendedBytes = 5;  // bytes: too many words are one edit away from a shorter word
constexpr size_t kMaxMendedBytes = 32;
constexpr size_t kMaxMended = 4;
constexpr uint32_t kRare = 2;       // documents: a known word this rare may be a typing error, also of a definition,
constexpr uint32_t kCommoner = 20;  // if a word that is so many times as common is one edit away
constexpr size_t kFewDocuments = 1000;  // in a larger index, a word in over 1/4 of the documents is no substitute
constexpr size_t kFirstBytes = 32;
constexpr size_t kMaxCorrected = 8;  // words of a query that are compared with the whole vocabulary

uint64_t position_hash(std::string_view text) {
  const auto hash = fnv_of<uint64_t>(text);
  return hash ^ (hash >> 29);
}

size_t bucket_of(size_t length, char first) {
  return length * kFirstBytes + static_cast<unsigned char>(first) % kFirstBytes;
}

bool is_number(std::string_view word) { return std::all_of(word.begin(), word.end(), is_digit); }
bool is_small_letters(std::string_view word) { return std::all_of(word.begin(), word.end(), is_lower); }

}  // namespace

uint32_t Index::find_term(std::string_view stem) const {
  const size_t mask = term_table_.size() - 1;
  for (size_t at = position_hash(stem) & mask;; at = (at + 1) & mask) {
    uint32_t term = term_table_[at];
    if (term == kNone || term_text(term) == stem) return term;
  }
}

void Index::hash_terms() {
  size_t size = 16;
  while (size < vocabulary() * 2) size *= 2;
  term_table_.assign(size, kNone);
  for (uint32_t term = 0; term < vocabulary(); term++) {
    size_t at = position_hash(term_text(term)) & (size - 1);
    while (term_table_[at] != kNone) at = (at + 1) & (size - 1);
    term_table_[at] = term;
  }
}

void Index::sort_by_length() {
  length_begins_.assign((kMaxMendedBytes + 1) * kFirstBytes + 1, 0);
  auto each = [&](auto&& take) {
    for (uint32_t term = 0; term < vocabulary(); term++) {
      const std::string_view text = term_text(term);
      if (!text.empty() && text.size() <= kMaxMendedBytes && is_small_letters(text))
        take(term, bucket_of(text.size(), text[0]));
    }
  };
  each([&](uint32_t, size_t bucket) { length_begins_[bucket + 1]++; });
  for (size_t i = 1; i < length_begins_.size(); i++) length_begins_[i] += length_begins_[i - 1];
  by_length_.resize(length_begins_.back());
  std::vector<uint32_t> next(length_begins_.begin(), length_begins_.end() - 1);
  each([&](uint32_t term, size_t bucket) { by_length_[next[bucket]++] = term; });
}

// Terms one edit away that begin with the first or second letter of the word: the first letter is seldom wrong.
std::vector<uint32_t> Index::one_edit_away(std::string_view stem) const {
  std::vector<uint32_t> near;
  if (stem.size() < 2 || stem.size() >= kMaxMendedBytes || !is_small_letters(stem)) return near;
  for (size_t length = stem.size() - 1; length <= stem.size() + 1; length++)
    for (size_t i = 0; i < (stem[0] == stem[1] ? 1 : 2); i++) {
      const size_t bucket = bucket_of(length, stem[i]);
      for (uint32_t at = length_begins_[bucket]; at < length_begins_[bucket + 1]; at++)
        if (const std::string_view text = term_text(by_length_[at]); text != stem && within_one_edit(stem, text))
          near.push_back(by_length_[at]);
    }
  std::sort(near.begin(), near.end(), [&](uint32_t a, uint32_t b) {
    return frequency_[a] != frequency_[b] ? frequency_[a] > frequency_[b] : a < b;
  });
  return near;
}

// QueryReader: reads one query.
class QueryReader {
 public:
  QueryReader(const Index& index, const Thesaurus* thesaurus) : index_(index), thesaurus_(thesaurus) {}

  Index::Terms read(std::string_view query) {
    read_words(query);
    for (size_t i = 0; i < words_.size(); i++) {
      // Two neighbours that tools write as one word: "file system". The pair replaces them if no tool has one of the
      // halves.
      uint32_t pair = i + 1 < words_.size() ? term_of(words_[i] + words_[i + 1]) : Index::kNone;
      if (pair != Index::kNone) {
        bool both = term_of(words_[i]) != Index::kNone && term_of(words_[i + 1]) != Index::kNone;
        if (!both) {
          add(words_[i] + words_[i + 1]);
          i++;
          continue;
        }
        terms_.extras.push_back(pair);
      }
      add(words_[i]);
    }
    std::sort(terms_.extras.begin(), terms_.extras.end());
    terms_.extras.erase(std::unique(terms_.extras.begin(), terms_.extras.end()), terms_.extras.end());
    std::erase_if(terms_.extras, [&](uint32_t term) {
      return std::any_of(terms_.words.begin(), terms_.words.end(),
                         [&](const auto& w) { return w.documents > 0 && w.term == term; });
    });
    for (auto& word : terms_.words) find_peers(word);
    if (sentence_) add_wishes();
    std::stable_sort(terms_.words.begin(), terms_.words.end(),
                     [](const auto& a, const auto& b) { return a.documents < b.documents; });
    return std::move(terms_);
  }

 private:
  uint32_t term_of(std::string_view word) const { return index_.find_term(index_.stemmer_.stem(word)); }

  void read_words(std::string_view query) {
    std::vector<std::string> stop_words;
    Word word;
    for (WordReader reader(query); words_.size() + stop_words.size() < kMaxQueryWords && reader.next(word);) {
      if (word.form == Word::Form::joined) {
        if (uint32_t term = term_of(word.text); term != Index::kNone) terms_.extras.push_back(term);
      } else {
        said_.push_back(word.text);
        (is_stop_word(word.text) || is_query_stop_word(word.text) ? stop_words : words_).push_back(word.text);
      }
    }
    if (words_.empty()) words_ = std::move(stop_words);  // "what to do" may be the whole query
    // In a name or in two words each word counts in full; in a sentence some words count less.
    sentence_ = words_.size() > 2 &&
                std::any_of(words_.begin(), words_.end(), [](const auto& item) { return !is_weak_query_word(item); });
  }

  int32_t weight_of(std::string_view word) const {
    if (!sentence_) return Index::kFull;
    if (is_weak_query_word(word)) return kWeak;
    if (is_number(word)) return kNumber;
    return word.size() == 1 ? kLetter : Index::kFull;
  }

  void add(const std::string& word) {
    const uint32_t term = term_of(word);
    for (const auto& existing : terms_.words)
      if (term == Index::kNone ? existing.text == word : existing.documents > 0 && existing.term == term) return;
    const uint32_t documents = term == Index::kNone ? 0 : index_.frequency_[term];
    terms_.words.push_back({word, term, documents, weight_of(word), {}});
  }

  void find_peers(Index::Terms::Word& word) const {
    if (word.weight != Index::kFull) return;
    const std::string stem(index_.stemmer_.stem(word.text));
    const std::string_view base = thesaurus_ ? thesaurus_->base_form(word.text) : std::string_view();
    const auto everyday = everyday_words().related(stem);
    if (everyday.empty() && base.empty()) mend(word, stem);
    for (const auto& [other, is_hint] : everyday) add_other(word, other, is_hint ? kHint : kSame);
    if (!base.empty()) {
      if (base != word.text) add_other(word, index_.stemmer_.stem(base), kBaseForm);
      for (const auto& [other, kind] : thesaurus_->related(base))
        add_other(word, other, kind == Thesaurus::Kind::synonym ? kSynonym : kWider);
    }
  }

  // Adds the subjects that words around the wish suggest, alone and in pairs: "days off", "tell Anna".
  void add_wishes() {
    std::string before;
    for (const std::string& word : said_) {
      const std::string stem(index_.stemmer_.stem(word));
      if (is_stop_word(word) || is_query_stop_word(word) || is_weak_query_word(word)) add_watch_request(word, stem);
      if (!before.empty()) add_watch_request(before + " " + word, before + " " + stem);
      before = stem;
    }
  }

  void add_watch_request(const std::string& text, const std::string& message) {
    const auto& intended = everyday_words().related(message);
    if (intended.empty()) return;
    Index::Terms::Word word{text, 0, 0, Index::kFull, {}};
    for (const auto& [other, is_hint] : intended) add_other(word, other, is_hint ? kHint : kSame);
    if (!word.alternatives.empty()) terms_.wishes.push_back(std::move(word));
  }

  void mend(Index::Terms::Word& word, std::string_view stem) const {
    if (word.text.size() < kMinMendedBytes || (word.documents > 0 && (!thesaurus_ || word.documents > kRare))) return;
    size_t mended = 0;
    for (uint32_t term : index_.one_edit_away(stem)) {
      if (mended++ == kMaxMended || index_.frequency_[term] < word.documents * kCommoner) break;
      word.alternatives.push_back({term, kMended});
    }
  }

  void add_other(Index::Terms::Word& word, std::string_view stem, int32_t weight) const {
    const uint32_t term = index_.find_term(stem);
    if (term == Index::kNone || (word.documents > 0 && term == word.term)) return;
    const uint32_t documents = index_.frequency_[term];
    if (index_.documents_ > kFewDocuments && documents > index_.documents_ / 4) return;
    // A substitute that is rarer than the word itself gets no higher value for it.
    if (word.documents > documents)
      weight = std::max(1, static_cast<int32_t>(weight * index_.rarity(word.documents) / index_.rarity(documents)));
    for (auto& existing : word.alternatives)
      if (existing.term == term) {
        existing.weight = std::max(existing.weight, weight);
        return;
      }
    word.alternatives.push_back({term, weight});
  }

  const Index& index_;
  const Thesaurus* thesaurus_;
  std::vector<std::string> said_, words_;  // in their order: all words; all words except stop words
  bool sentence_ = false;
  Index::Terms terms_;
};

Index::Terms Index::terms(std::string_view query, const Thesaurus* thesaurus) const {
  return QueryReader(*this, thesaurus).read(query);
}

Index::Terms Index::corrected(const Terms& terms) const {
  Terms near = terms;
  near.words.clear();
  size_t compared = 0;
  for (const auto& word : terms.words) {
    if (word.documents > 0) {
      near.words.push_back(word);
      continue;
    }
    const std::string stem(stemmer_.stem(word.text));
    if (word.text.size() < 4 || ++compared > kMaxCorrected) continue;
    const Spelling spelling(stem);
    // Begins one above the largest distance allowed, of the stem: with half its letters replaced, "vulner" becomes
    // "number".
    unsigned best = static_cast<unsigned>(std::clamp<size_t>(stem.size() / 3, 1, 3)) + 1;
    uint32_t matched_term = kNone;
    for (uint32_t term = 0; term < vocabulary(); term++) {
      std::string_view text = term_text(term);
      size_t longer = std::max(text.size(), stem.size()), shorter = std::min(text.size(), stem.size());
      if (longer - shorter >= best || longer > Spelling::kMaxBytes) continue;
      unsigned distance = spelling.distance(text);
      if (distance >= best) continue;
      best = distance;
      matched_term = term;
    }
    if (matched_term != kNone)
      near.words.push_back({word.text, matched_term, frequency_[matched_term], word.weight, {}});
  }
  return near;
}

}  // namespace catalog
