// Index: finds tools by words, ranked (BM25F: Robertson, Zaragoza, "The Probabilistic Relevance Framework", 2009).
// Every tool that has any of the words is ranked; none is left out for what it lacks. A word that no tool has is
// mended where one edit makes a known one, and words that mean about the same count for a part (related_words.h).
// Immutable once built. What each word is worth in each document is computed when it is built; a search only adds up.
// Memory: about 4 bytes for each different word of each document. One thread: searches share scratch buffers.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/word_table.h"
#include "catalog/words.h"

namespace catalog {

class Thesaurus;

// Where a word stands says what it is worth. `place` is server and category, `parameters` their names, `about` what
// their descriptions say.
enum class Field : uint8_t { name, place, description, parameters, about, uses };
constexpr size_t kFields = 6;
constexpr size_t kMaxQueryWords = 160;   // more are not read
constexpr size_t kMaxFieldWords = 4000;  // of one field of one document
constexpr uint32_t kNoGroup = ~uint32_t{0};

class Index {
 public:
  using Mask = std::vector<uint8_t>;     // of each document: 1 lets it through, 0 does not; empty: all
  static constexpr int32_t kWhole = 64;  // the weight of a word that is meant as it is written

  // A word of the vocabulary that counts for a part, of kWhole.
  struct Related {
    uint32_t term = 0;
    int32_t weight = 0;
  };
  // The words of a query against the vocabulary, rarest first.
  struct Terms {
    struct Word {
      std::string text;             // as it was written, lower case
      uint32_t term = 0;            // of the vocabulary, if known
      uint32_t documents = 0;       // that have it; 0: no tool has this word
      int32_t weight = kWhole;      // less for words that say little about what is meant
      std::vector<Related> others;  // mended spellings, and what means about the same; each document counts its best
    };
    std::vector<Word> words;       // each counts once
    std::vector<Word> wishes;      // what is said around them, "days off": what it may be about, not asked for itself
    std::vector<uint32_t> extras;  // joined spellings: worth something, not asked for
    bool known() const;            // any tool has any of it
  };
  struct Hit {
    uint32_t document = 0;
    int32_t score = 0;
  };
  struct Ranking {
    std::vector<Hit> hits;  // best first; equals by number
    size_t total = 0;       // documents that have any of the words
  };

  // `thesaurus` may be nullptr: then only our own list of everyday words says what means the same.
  Terms terms(std::string_view query, const Thesaurus* thesaurus = nullptr) const;
  // The best `limit` are listed. A document of a group (a server) of which another fits well comes a little before
  // others of the same worth.
  Ranking rank(const Terms& terms, size_t limit, const Mask& mask = {}) const;
  // What a document that had all that was asked for would score, about: a share of it is how much one has.
  double most(const Terms& terms) const;
  // Every unknown word replaced by the nearest known one, or dropped when none is near. Each is compared with the whole
  // vocabulary: the first eight of them are, the others dropped.
  Terms corrected(const Terms& terms) const;

  size_t documents() const { return documents_; }
  size_t vocabulary() const { return term_ends_.size(); }
  size_t bytes() const;

 private:
  friend class IndexBuilder;
  friend class QueryReader;
  static constexpr uint32_t kNone = ~uint32_t{0};
  static constexpr size_t kShard = 1 << 16;  // documents: their numbers in it fit 16 bits
  static constexpr size_t kBlock = 64;       // documents looked at together
  static constexpr uint32_t kMaxImpact = 0xFFFF;
  struct Shard {
    std::vector<uint32_t> begins;    // of each term's postings; one more at the end
    std::vector<uint32_t> postings;  // document within the shard << 16 | impact
  };
  std::string_view term_text(uint32_t term) const;
  uint32_t find_term(std::string_view stem) const;
  double rarity(uint32_t documents) const;
  void add_up(const Shard& shard, const Terms& terms) const;
  void favour_groups(std::vector<Hit>& hits) const;
  void hash_terms();
  void sort_by_length();
  std::vector<uint32_t> one_edit_away(std::string_view stem) const;

  size_t documents_ = 0;
  std::vector<Shard> shards_;
  std::vector<uint32_t> groups_;  // of each document
  std::string term_texts_;
  std::vector<uint32_t> term_ends_;   // in term_texts_
  std::vector<uint32_t> term_table_;  // open addressing: hash of the text to term, kNone where free
  std::vector<uint32_t> frequency_;   // documents that have the term
  std::vector<uint32_t> by_length_;   // terms of up to kMaxMended bytes, by length and first byte
  std::vector<uint32_t>
      length_begins_;  // in by_length_, of each length and first byte (bucket_of); one more at the end
  Stemmer stemmer_;
  // Scratch of the documents of a shard, whole blocks: scores, the best of a word so far, and where that is not 0.
  mutable std::vector<int32_t> scores_, best_;
  mutable std::vector<int32_t> best_of_group_;  // 0 but for the groups of the hits that are looked at
  mutable std::vector<uint16_t> touched_;
};

class IndexBuilder {
 public:
  // The fields of the next document; numbers are given in order, from 0; groups have small ones.
  void add(const std::array<std::string, kFields>& fields, uint32_t group = kNoGroup);
  Index finish() &&;

 private:
  struct Posting {
    uint32_t term, document, counts;  // 5 bits of each field
  };
  struct Seen {  // a word as it is written
    uint32_t term;
    bool is_stop_word;
  };
  Seen seen(const std::string& word);
  std::vector<Posting> postings_;
  std::vector<std::array<uint16_t, kFields>> lengths_;
  std::vector<uint32_t> groups_;
  WordTable words_, terms_;
  std::vector<Seen> seen_;                             // of each of words_
  std::vector<std::pair<uint32_t, uint32_t>> counts_;  // of the document being added
  Stemmer stemmer_;
};

}  // namespace catalog
