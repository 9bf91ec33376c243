#include "catalog/index.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

namespace catalog {
namespace {

constexpr size_t kGroupedHits = 200;  // documents with their groups examined
constexpr int32_t kGroupPart = 6;     // 1/6 of the best score in its group is added to a document's score

bool better(const Index::Hit& a, const Index::Hit& b) {
  return a.score != b.score ? a.score > b.score : a.document < b.document;
}

// Best: collects the best hits, at most `limit`.
class Best {
 public:
  explicit Best(size_t limit) : limit_(limit) {}
  int32_t least() const { return least_; }  // a hit must have a higher score to be among the best
  void take(const Index::Hit& hit) {
    if (hits_.size() == limit_) {
      std::pop_heap(hits_.begin(), hits_.end(), better);  // the worst of the best hits is in front
      hits_.pop_back();
    }
    hits_.push_back(hit);
    std::push_heap(hits_.begin(), hits_.end(), better);
    if (hits_.size() == limit_) least_ = hits_.front().score;
  }
  std::vector<Index::Hit> take_hits() && { return std::move(hits_); }  // in no order

 private:
  size_t limit_;
  std::vector<Index::Hit> hits_;
  int32_t least_ = 0;
};

}  // namespace

bool Index::Terms::known() const {
  return !extras.empty() || !wishes.empty() || std::any_of(words.begin(), words.end(), [](const Word& w) {
    return w.documents > 0 || !w.alternatives.empty();
  });
}

std::string_view Index::term_text(uint32_t term) const {
  uint32_t begin = term == 0 ? 0 : term_ends_[term - 1];
  return std::string_view(term_texts_).substr(begin, term_ends_[term] - begin);
}

double Index::rarity(uint32_t documents) const {
  return std::log(1 + (static_cast<double>(documents_) - documents + 0.5) / (documents + 0.5));
}

double Index::max(const Terms& terms) const {
  double all = 0;
  for (const auto& word : terms.words) all += word.weight * rarity(std::max(word.documents, 1u));
  return all / rarity(1) * kMaxImpact;
}

// For the documents of a shard, in whole blocks. Each thread has one, which grows.
struct Index::Scratch {
  void grow(size_t documents) {
    if (scores.size() >= documents) return;
    scores.resize(documents);
    best.resize(documents);
    touched.resize(documents + 1);
  }
  std::vector<int32_t> scores;
  std::vector<int32_t> best;      // value of the current word; 0 between two words
  std::vector<uint16_t> touched;  // documents with a value other than 0
};

// Adds the value of each word to each document's score: of the word itself, or of its best substitute.
void Index::add_up(const Shard& shard, const Terms& terms, Scratch& scratch) const {
  auto& [scores, best_values, touched_documents] = scratch;
  auto each = [&](uint32_t term, auto&& take) {
    const uint32_t* end = shard.postings.data() + shard.begins[term + 1];
    for (const uint32_t* at = shard.postings.data() + shard.begins[term]; at != end; at++)
      take(*at >> 16, static_cast<int32_t>(*at & kMaxImpact));
  };
  auto add = [&](const Terms::Word& word) {
    if (word.alternatives.empty()) {
      if (word.documents > 0)
        each(word.term, [&](uint32_t document, int32_t impact) { scores[document] += word.weight * impact; });
      return;
    }
    size_t touched = 0;
    auto best_of = [&](uint32_t term, int32_t weight) {
      each(term, [&](uint32_t document, int32_t impact) {
        int32_t& best = best_values[document];
        touched_documents[touched] = static_cast<uint16_t>(document);
        touched += best == 0;
        best = std::max(best, weight * impact);
      });
    };
    if (word.documents > 0) best_of(word.term, word.weight);
    for (const Related& other : word.alternatives) best_of(other.term, other.weight);
    for (size_t i = 0; i < touched; i++)
      scores[touched_documents[i]] += std::exchange(best_values[touched_documents[i]], 0);
  };
  for (const auto& word : terms.words) add(word);
  for (const auto& request : terms.wishes) add(request);
  for (uint32_t term : terms.extras)
    each(term, [&](uint32_t document, int32_t impact) { scores[document] += kFull * impact; });
}

void Index::favour_groups(std::vector<Hit>& hits) const {
  std::unordered_map<uint32_t, int32_t> best;
  for (const Hit& hit : hits)
    if (const uint32_t group = groups_[hit.document]; group != kNoGroup) best[group] = std::max(best[group], hit.score);
  for (Hit& hit : hits)
    if (const uint32_t group = groups_[hit.document]; group != kNoGroup) hit.score += best[group] / kGroupPart;
}

Index::Ranking Index::rank(const Terms& terms, size_t limit, const Mask& mask) const {
  Ranking ranking;
  if (limit == 0 || !terms.known()) return ranking;
  thread_local Scratch scratch;
  Best preferred(std::max(limit, kGroupedHits)), peers(std::max(limit, kGroupedHits));
  for (size_t s = 0; s < shards_.size(); s++) {
    const size_t first = s * kShard, count = std::min(kShard, documents_ - first);
    const size_t blocks = (count + kBlock - 1) / kBlock;
    scratch.grow(blocks * kBlock);
    std::vector<int32_t>& scores = scratch.scores;
    std::fill_n(scores.begin(), blocks * kBlock, 0);
    add_up(shards_[s], terms, scratch);
    if (!mask.empty())
      for (size_t i = 0; i < count; i++) scores[i] &= -static_cast<int32_t>(mask[first + i]);
    for (size_t block = 0; block < blocks; block++) {
      // No branches here: which documents fit is as good as random. Signed, as SSE2 compares.
      const int32_t* values = scores.data() + block * kBlock;
      int32_t fit = 0, top = 0;
      for (size_t i = 0; i < kBlock; i++) {
        fit += values[i] > 0 ? 1 : 0;
        top = std::max(top, values[i]);
      }
      ranking.total += static_cast<size_t>(fit);
      const size_t begin = first + block * kBlock;
      const size_t border = std::clamp(preferred_, begin, begin + kBlock) - begin;  // at most one block has both kinds
      auto take = [&](Best& best, size_t from, size_t to) {
        if (from == to || top <= best.least()) return;
        for (size_t i = from; i < to; i++)
          if (values[i] > best.least()) best.take({static_cast<uint32_t>(begin + i), values[i]});
      };
      take(preferred, 0, border);
      take(peers, border, kBlock);
    }
  }
  ranking.hits = std::move(preferred).take_hits();
  const auto count = static_cast<std::ptrdiff_t>(ranking.hits.size());
  const std::vector<Hit> rest = std::move(peers).take_hits();
  ranking.hits.insert(ranking.hits.end(), rest.begin(), rest.end());
  favour_groups(ranking.hits);
  const auto begin = ranking.hits.begin();
  const auto listed = static_cast<std::ptrdiff_t>(std::min(limit, ranking.hits.size()));
  std::partial_sort(begin, begin + std::min(listed, count), begin + count, better);
  if (listed > count) std::partial_sort(begin + count, begin + listed, ranking.hits.end(), better);
  ranking.hits.resize(static_cast<size_t>(listed));
  return ranking;
}

size_t Index::bytes() const {
  size_t all = term_texts_.capacity() + (term_ends_.capacity() + term_table_.capacity() + frequency_.capacity() +
                                         groups_.capacity() + by_length_.capacity() + length_begins_.capacity()) *
                                            sizeof(uint32_t);
  for (const Shard& shard : shards_) all += (shard.begins.capacity() + shard.postings.capacity()) * sizeof(uint32_t);
  return all;
}

}  // namespace catalog
