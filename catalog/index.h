// Index: finds tools by words, ranked (BM25F: Robertson, Zaragoza, "The Probabilistic Relevance Framework", 2009).
// Immutable once built. What each word is worth in each document is computed when it is built; a search only adds up.
// Memory: about 4 bytes for each different word of each document. One thread: searches share a scratch buffer.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "catalog/words.h"

namespace catalog {

// Where a word stands says what it is worth.
enum class Field : uint8_t { name, place, description, parameters, uses };  // place: server and category
constexpr size_t kFields = 5;
constexpr size_t kMaxQueryWords = 48;    // more are not read
constexpr size_t kMaxFieldWords = 4000;  // of one field of one document

class Index {
 public:
  using Mask = std::vector<uint8_t>;  // of each document: 1 lets it through, 0 does not; empty: all

  // The words of a query against the vocabulary, rarest first.
  struct Terms {
    struct Word {
      std::string text;        // as it was written, lower case
      uint32_t term = 0;       // of the vocabulary, if known
      uint32_t documents = 0;  // that have it; 0: no tool has this word
    };
    std::vector<Word> words;       // each counts once
    std::vector<uint32_t> extras;  // joined spellings: worth something, not asked for
    size_t known() const;
    // Worth an answer: of up to three words the rarest is known, of a sentence half of them are.
    bool promising() const;
  };
  struct Hit {
    uint32_t document = 0;
    int32_t score = 0;
  };
  struct Ranking {
    std::vector<Hit> hits;  // best first; equals by number
    size_t total = 0;       // documents that have enough of the words
  };

  Terms terms(std::string_view query) const;
  // From four known words on, a document must have half of them. The best `limit` are listed.
  Ranking rank(const Terms& terms, size_t limit, const Mask& mask = {}) const;
  // Every unknown word replaced by the nearest known one, or dropped when none is near.
  Terms corrected(const Terms& terms) const;

  size_t documents() const { return documents_; }
  size_t vocabulary() const { return term_ends_.size(); }
  size_t bytes() const;

 private:
  friend class IndexBuilder;
  static constexpr uint32_t kNone = ~uint32_t{0};
  static constexpr size_t kShard = 1 << 16;  // documents: their numbers in it fit 16 bits
  static constexpr size_t kBlock = 64;       // documents looked at together
  struct Shard {
    std::vector<uint32_t> begins;    // of each term's postings; one more at the end
    std::vector<uint32_t> postings;  // document within the shard << 16 | impact
  };
  std::string_view term_text(uint32_t term) const;
  uint32_t find_term(std::string_view stem) const;
  void add_word(Terms& terms, std::string_view word) const;

  size_t documents_ = 0;
  std::vector<Shard> shards_;
  std::string term_texts_;
  std::vector<uint32_t> term_ends_;   // in term_texts_
  std::vector<uint32_t> term_table_;  // open addressing: hash of the text to term, kNone where free
  std::vector<uint32_t> frequency_;   // documents that have the term
  Stemmer stemmer_;
  mutable std::vector<int32_t> scratch_;  // of the documents of a shard, whole blocks
};

class IndexBuilder {
 public:
  // The fields of the next document; numbers are given in order, from 0.
  void add(const std::array<std::string, kFields>& fields);
  Index finish() &&;

 private:
  struct Posting {
    uint32_t term, document, counts;  // 5 bits of each field
  };
  uint32_t term_of(const std::string& word);
  std::vector<Posting> postings_;
  std::vector<std::array<uint16_t, kFields>> lengths_;
  std::unordered_map<std::string, uint32_t> stems_;  // every word seen, as written, to its term
  std::unordered_map<std::string, uint32_t> terms_;
  std::vector<std::pair<uint32_t, uint32_t>> counts_;  // of the document being added
  Stemmer stemmer_;
};

}  // namespace catalog
