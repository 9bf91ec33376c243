#include <algorithm>
#include <cmath>
#include <numeric>

#include "catalog/index.h"

namespace catalog {
namespace {

// Measured on tool definitions: each value may be off by half without worse results.
constexpr double kSaturation = 1.2;                                         // k1
constexpr std::array<double, kFields> kWeights = {3, 1.5, 1, 0.5, 0.3, 1};  // in the order of Field
constexpr double kLengthMatters = 0.5;                                      // b
constexpr unsigned kCountBits = 5;
constexpr uint32_t kCountMask = (1 << kCountBits) - 1;
static_assert(kFields * kCountBits <= 32);

}  // namespace

IndexBuilder::Seen IndexBuilder::seen(const std::string& word) {
  const uint32_t number = words_.number_of(word);
  if (number == seen_.size()) seen_.push_back({terms_.number_of(stemmer_.stem(word)), is_stop_word(word)});
  return seen_[number];
}

void IndexBuilder::add(const std::array<std::string, kFields>& fields, uint32_t group) {
  groups_.push_back(group);
  auto& lengths = lengths_.emplace_back();
  counts_.clear();
  for (size_t field = 0; field < kFields; field++) {
    size_t length = 0;
    Word word;
    for (WordReader reader(fields[field]); length < kMaxFieldWords && reader.next(word);) {
      const Seen item = seen(word.text);
      if (field != static_cast<size_t>(Field::name) && item.is_stop_word) continue;
      if (word.form == Word::Form::part) length++;
      counts_.emplace_back(item.term, uint32_t{1} << (field * kCountBits));
    }
    lengths[field] = static_cast<uint16_t>(length);
  }
  std::sort(counts_.begin(), counts_.end());
  const auto document = static_cast<uint32_t>(lengths_.size() - 1);
  for (size_t i = 0; i < counts_.size();) {
    Posting posting{counts_[i].first, document, 0};
    for (; i < counts_.size() && counts_[i].first == posting.term; i++) {
      const uint32_t value = counts_[i].second, full = value * kCountMask;
      if ((posting.counts & full) != full) posting.counts += value;
    }
    postings_.push_back(posting);
  }
}

Index IndexBuilder::finish(size_t preferred) && {
  Index index;
  index.documents_ = lengths_.size();
  index.preferred_ = preferred;
  words_ = {};
  seen_ = {};

  terms_.take(index.term_texts_, index.term_ends_);
  index.frequency_.assign(index.term_ends_.size(), 0);
  index.hash_terms();

  std::array<double, kFields> mean{};
  for (const auto& lengths : lengths_)
    for (size_t field = 0; field < kFields; field++) mean[field] += lengths[field];
  for (double& length : mean)
    length = std::max(1.0, length / static_cast<double>(std::max<size_t>(1, lengths_.size())));

  for (const Posting& posting : postings_) index.frequency_[posting.term]++;
  const double scale = Index::kMaxImpact / index.rarity(1);
  auto impact = [&](const Posting& posting) {
    double weight = 0;
    for (size_t field = 0; field < kFields; field++) {
      const double count = (posting.counts >> (field * kCountBits)) & kCountMask;
      if (count == 0) continue;
      weight += kWeights[field] * count /
                (1 - kLengthMatters + kLengthMatters * lengths_[posting.document][field] / mean[field]);
    }
    const double score = index.rarity(index.frequency_[posting.term]) * weight / (kSaturation + weight) * scale;
    return static_cast<uint32_t>(std::clamp(score, 1.0, double{Index::kMaxImpact}));
  };
  index.shards_.resize((index.documents_ + Index::kShard - 1) / Index::kShard);
  size_t from = 0;  // postings are in the order of their documents
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
  index.groups_ = std::move(groups_);
  index.groups_.shrink_to_fit();
  index.sort_by_length();
  postings_ = {};
  lengths_ = {};
  return index;
}

}  // namespace catalog
