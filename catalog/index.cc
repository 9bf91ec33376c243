#include "catalog/index.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace catalog {
namespace {

// Where tuning stops to matter; measured on tool definitions, any of them may be off by half.
constexpr double kSaturation = 1.2;                                                 // k1
constexpr std::array<double, kFields> kWeights = {5, 1.5, 1, 0.7, 1.5};             // in the order of Field
constexpr std::array<double, kFields> kLengthMatters = {0.5, 0.3, 0.75, 0.5, 0.6};  // b of each field
constexpr size_t kSentence = 4;  // words: fewer are keywords, each of them meant
constexpr unsigned kCountBits = 5;
constexpr uint32_t kCountMask = (1 << kCountBits) - 1;

// In the scratch buffer: the words a document has in the upper 8 bits, the sum of their impacts below.
constexpr unsigned kScoreBits = 24;
constexpr int32_t kScoreMask = (1 << kScoreBits) - 1;
constexpr uint32_t kMaxImpact = 0xFFFF;
static_assert(kMaxQueryWords * 3 * kMaxImpact < size_t{kScoreMask});  // words and both kinds of joined spellings
static_assert(kMaxQueryWords < 127);

uint64_t hash(std::string_view text) {  // FNV-1a
  uint64_t h = 14695981039346656037u;
  for (char c : text) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return h ^ (h >> 29);
}

bool better(const Index::Hit& a, const Index::Hit& b) {
  return a.score != b.score ? a.score > b.score : a.document < b.document;
}

}  // namespace

size_t Index::Terms::known() const {
  return static_cast<size_t>(std::count_if(words.begin(), words.end(), [](const Word& w) { return w.documents > 0; }));
}

bool Index::Terms::promising() const {
  if (words.empty()) return false;
  return words.size() < kSentence ? words.front().documents > 0 : known() * 2 >= words.size();
}

std::string_view Index::term_text(uint32_t term) const {
  uint32_t begin = term == 0 ? 0 : term_ends_[term - 1];
  return std::string_view(term_texts_).substr(begin, term_ends_[term] - begin);
}

uint32_t Index::find_term(std::string_view stem) const {
  const size_t mask = term_table_.size() - 1;
  for (size_t at = hash(stem) & mask;; at = (at + 1) & mask) {
    uint32_t term = term_table_[at];
    if (term == kNone || term_text(term) == stem) return term;
  }
}

void Index::add_word(Terms& terms, std::string_view word) const {
  uint32_t term = find_term(stemmer_.stem(word));
  for (const auto& known : terms.words)
    if (term == kNone ? known.text == word : known.documents > 0 && known.term == term) return;
  terms.words.push_back({std::string(word), term, term == kNone ? 0 : frequency_[term]});
}

Index::Terms Index::terms(std::string_view query) const {
  Terms found;
  std::vector<std::string> words;  // in their order, without stop words
  std::vector<std::string> stop_words;
  Word word;
  for (WordReader reader(query); words.size() + stop_words.size() < kMaxQueryWords && reader.next(word);) {
    if (word.form == Word::Form::joined) {
      uint32_t term = find_term(stemmer_.stem(word.text));
      if (term != kNone) found.extras.push_back(term);
    } else {
      (is_stop_word(word.text) ? stop_words : words).push_back(word.text);
    }
  }
  if (words.empty()) words = std::move(stop_words);  // "what to do" may be all there is
  for (size_t i = 0; i < words.size(); i++) {
    // Neighbours that tools write as one word: "file system". It stands in for a half that no tool has alone.
    uint32_t pair = i + 1 < words.size() ? find_term(stemmer_.stem(words[i] + words[i + 1])) : kNone;
    if (pair != kNone) {
      bool both = find_term(stemmer_.stem(words[i])) != kNone && find_term(stemmer_.stem(words[i + 1])) != kNone;
      if (!both) {
        add_word(found, words[i] + words[i + 1]);
        i++;
        continue;
      }
      found.extras.push_back(pair);
    }
    add_word(found, words[i]);
  }
  std::sort(found.extras.begin(), found.extras.end());
  found.extras.erase(std::unique(found.extras.begin(), found.extras.end()), found.extras.end());
  std::erase_if(found.extras, [&](uint32_t term) {
    return std::any_of(found.words.begin(), found.words.end(),
                       [&](const auto& w) { return w.documents > 0 && w.term == term; });
  });
  std::stable_sort(found.words.begin(), found.words.end(),
                   [](const auto& a, const auto& b) { return a.documents < b.documents; });
  return found;
}

Index::Terms Index::corrected(const Terms& terms) const {
  Terms near = terms;
  near.words.clear();
  for (const auto& word : terms.words) {
    if (word.documents > 0) {
      near.words.push_back(word);
      continue;
    }
    const std::string stem(stemmer_.stem(word.text));
    if (word.text.size() < 4) continue;
    const Spelling spelling(stem);
    // One more than may differ: of the stem, for with half of "vulner" replaced it is "number".
    unsigned best = static_cast<unsigned>(std::clamp<size_t>(stem.size() / 3, 1, 3)) + 1;
    uint32_t found = kNone;
    for (uint32_t term = 0; term < vocabulary(); term++) {
      std::string_view text = term_text(term);
      size_t longer = std::max(text.size(), stem.size()), shorter = std::min(text.size(), stem.size());
      if (longer - shorter >= best || longer > Spelling::kMaxBytes) continue;
      unsigned distance = spelling.distance(text);
      if (distance >= best) continue;
      best = distance;
      found = term;
    }
    if (found != kNone) near.words.push_back({word.text, found, frequency_[found]});
  }
  return near;
}

Index::Ranking Index::rank(const Terms& terms, size_t limit, const Mask& mask) const {
  Ranking ranking;
  const size_t known = terms.known();
  if (known == 0 || limit == 0) return ranking;
  const int32_t needed = static_cast<int32_t>(known >= kSentence ? (known + 1) / 2 : 1) << kScoreBits;
  auto& best = ranking.hits;  // a heap: the worst of the best in front
  int32_t least = 0;          // what is not above this is not among the best
  auto take = [&](const Hit& hit) {
    if (best.size() == limit) {
      std::pop_heap(best.begin(), best.end(), better);
      best.pop_back();
    }
    best.push_back(hit);
    std::push_heap(best.begin(), best.end(), better);
    if (best.size() == limit) least = best.front().score;
  };
  for (size_t s = 0; s < shards_.size(); s++) {
    const Shard& shard = shards_[s];
    const size_t first = s * kShard, count = std::min(kShard, documents_ - first);
    const size_t blocks = (count + kBlock - 1) / kBlock;
    std::fill_n(scratch_.begin(), blocks * kBlock, 0);
    auto add = [&](uint32_t term, int32_t one) {
      const uint32_t* end = shard.postings.data() + shard.begins[term + 1];
      for (const uint32_t* at = shard.postings.data() + shard.begins[term]; at != end; at++)
        scratch_[*at >> 16] += one + static_cast<int32_t>(*at & kMaxImpact);
    };
    for (const auto& word : terms.words)
      if (word.documents > 0) add(word.term, 1 << kScoreBits);
    for (uint32_t term : terms.extras) add(term, 0);
    if (!mask.empty())
      for (size_t i = 0; i < count; i++) scratch_[i] &= -static_cast<int32_t>(mask[first + i]);
    for (size_t block = 0; block < blocks; block++) {
      // No branches in here: which documents fit is as good as random. Signed, as SSE2 compares.
      const int32_t* values = scratch_.data() + block * kBlock;
      int32_t fit = 0, top = 0;
      for (size_t i = 0; i < kBlock; i++) {
        const int32_t fits = values[i] >= needed ? -1 : 0;
        fit -= fits;
        top = std::max(top, values[i] & kScoreMask & fits);
      }
      ranking.total += static_cast<size_t>(fit);
      if (top <= least) continue;
      for (size_t i = 0; i < kBlock; i++)
        if (const int32_t score = values[i] & kScoreMask; values[i] >= needed && score > least)
          take({static_cast<uint32_t>(first + block * kBlock + i), score});
    }
  }
  std::sort_heap(best.begin(), best.end(), better);
  return ranking;
}

size_t Index::bytes() const {
  size_t all =
      term_texts_.capacity() +
      (term_ends_.capacity() + term_table_.capacity() + frequency_.capacity() + scratch_.capacity()) * sizeof(uint32_t);
  for (const Shard& shard : shards_) all += (shard.begins.capacity() + shard.postings.capacity()) * sizeof(uint32_t);
  return all;
}

uint32_t IndexBuilder::term_of(const std::string& word) {
  auto [seen, is_new] = stems_.try_emplace(word, 0);
  if (is_new)
    seen->second =
        terms_.try_emplace(std::string(stemmer_.stem(word)), static_cast<uint32_t>(terms_.size())).first->second;
  return seen->second;
}

void IndexBuilder::add(const std::array<std::string, kFields>& fields) {
  auto& lengths = lengths_.emplace_back();
  counts_.clear();
  for (size_t field = 0; field < kFields; field++) {
    size_t length = 0;
    Word word;
    for (WordReader reader(fields[field]); length < kMaxFieldWords && reader.next(word);) {
      if (field != static_cast<size_t>(Field::name) && is_stop_word(word.text)) continue;
      if (word.form == Word::Form::part) length++;
      counts_.emplace_back(term_of(word.text), uint32_t{1} << (field * kCountBits));
    }
    lengths[field] = static_cast<uint16_t>(length);
  }
  std::sort(counts_.begin(), counts_.end());
  const auto document = static_cast<uint32_t>(lengths_.size() - 1);
  for (size_t i = 0; i < counts_.size();) {
    Posting posting{counts_[i].first, document, 0};
    for (; i < counts_.size() && counts_[i].first == posting.term; i++) {
      const uint32_t one = counts_[i].second, full = one * kCountMask;
      if ((posting.counts & full) != full) posting.counts += one;
    }
    postings_.push_back(posting);
  }
}

Index IndexBuilder::finish() && {
  Index index;
  index.documents_ = lengths_.size();
  stems_ = {};

  index.term_ends_.resize(terms_.size());
  index.frequency_.assign(terms_.size(), 0);
  std::vector<const std::string*> texts(terms_.size());
  for (const auto& [text, term] : terms_) texts[term] = &text;
  size_t table = 16;
  while (table < terms_.size() * 2) table *= 2;
  index.term_table_.assign(table, Index::kNone);
  for (uint32_t term = 0; term < texts.size(); term++) {
    index.term_texts_ += *texts[term];
    index.term_ends_[term] = static_cast<uint32_t>(index.term_texts_.size());
    size_t at = hash(*texts[term]) & (table - 1);
    while (index.term_table_[at] != Index::kNone) at = (at + 1) & (table - 1);
    index.term_table_[at] = term;
  }
  texts = {};
  terms_ = {};
  index.term_texts_.shrink_to_fit();

  std::array<double, kFields> mean{};
  for (const auto& lengths : lengths_)
    for (size_t field = 0; field < kFields; field++) mean[field] += lengths[field];
  for (double& length : mean)
    length = std::max(1.0, length / static_cast<double>(std::max<size_t>(1, lengths_.size())));

  for (const Posting& posting : postings_) index.frequency_[posting.term]++;
  auto rarity = [&](double frequency) {
    return std::log(1 + (static_cast<double>(index.documents_) - frequency + 0.5) / (frequency + 0.5));
  };
  const double scale = kMaxImpact / rarity(1);
  auto impact = [&](const Posting& posting) {
    double weight = 0;
    for (size_t field = 0; field < kFields; field++) {
      const double count = (posting.counts >> (field * kCountBits)) & kCountMask;
      if (count == 0) continue;
      const double b = kLengthMatters[field];
      weight += kWeights[field] * count / (1 - b + b * lengths_[posting.document][field] / mean[field]);
    }
    const double score = rarity(index.frequency_[posting.term]) * weight / (kSaturation + weight) * scale;
    return static_cast<uint32_t>(std::clamp(score, 1.0, double{kMaxImpact}));
  };
  index.shards_.resize((index.documents_ + Index::kShard - 1) / Index::kShard);
  size_t from = 0;  // postings stand in the order of their documents
  for (size_t s = 0; s < index.shards_.size(); s++) {
    size_t to = from;
    while (to < postings_.size() && postings_[to].document / Index::kShard == s) to++;
    auto& shard = index.shards_[s];
    shard.begins.assign(index.vocabulary() + 1, 0);
    for (size_t i = from; i < to; i++) shard.begins[postings_[i].term + 1]++;
    std::partial_sum(shard.begins.begin(), shard.begins.end(), shard.begins.begin());
    shard.postings.resize(to - from);
    auto next = shard.begins;
    for (size_t i = from; i < to; i++) {
      const Posting& posting = postings_[i];
      shard.postings[next[posting.term]++] = (posting.document % Index::kShard) << 16 | impact(posting);
    }
    from = to;
  }
  index.scratch_.assign((std::min(index.documents_, Index::kShard) + Index::kBlock - 1) / Index::kBlock * Index::kBlock,
                        0);
  postings_ = {};
  lengths_ = {};
  return index;
}

}  // namespace catalog
