// Index: finds tools by words, ranked (BM25F: Robertson, Zaragoza, "The Probabilistic Relevance Framework", 2009).
// Every tool that has any of the words is ranked; missing words exclude no tool. An unknown word is corrected if one
// edit makes it a known word. Words of similar meaning count in part (everyday_words.h, thesaurus.h).
// Immutable once built: any number of threads may search. The weight of each word in each document is computed when the
// index is built; a search only adds up. Memory: about 4 bytes for each different word of each document.
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

// The field of a word decides about its weight. `provider` is server and category, `parameters` the names of
// parameters, `about` the descriptions of parameters.
enum class Field : uint8_t { name, provider, description, parameters, about, uses };
constexpr size_t kFields = 6;
constexpr size_t kMaxQueryWords = 160;   // further words are not read
constexpr size_t kMaxFieldWords = 4000;  // words of one field of one document
constexpr uint32_t kNoGroup = ~uint32_t{0};

class Index {
 public:
  using Mask = std::vector<uint8_t>;    // for each document: 1 lets it through, 0 does not; empty: all pass
  static constexpr int32_t kFull = 64;  // the weight of a word that counts in full

  // A word of the vocabulary that counts in part: `weight` of kFull.
  struct Related {
    uint32_t term = 0;
    int32_t weight = 0;
  };
  // The words of a query with their terms in the vocabulary, rarest first.
  struct Terms {
    struct Word {
      std::string text;                   // as in the query, lower case
      uint32_t term = 0;                  // its number in the vocabulary, if known
      uint32_t documents = 0;             // documents that have it; 0: no tool has this word
      int32_t weight = kFull;             // less for words that say little about the wanted tool
      std::vector<Related> alternatives;  // corrected spellings and similar meanings; in each document the best counts
    };
    std::vector<Word> words;       // each counts once
    std::vector<Word> wishes;      // words around them, "days off", with the subjects they may mean; not required
    std::vector<uint32_t> extras;  // joined spellings: they score, but are not required
    bool known() const;            // whether any tool has any of these words
  };
  struct Hit {
    uint32_t document = 0;
    int32_t score = 0;
  };
  struct Ranking {
    std::vector<Hit> hits;  // the preferred documents before the others, each best first; equals by number
    size_t total = 0;       // documents with any of the words
  };

  // `thesaurus` may be nullptr: then only the list of everyday words has similar meanings.
  Terms terms(std::string_view query, const Thesaurus* thesaurus = nullptr) const;
  // Lists the best `limit`. A document in a group (a server) with another document that fits well comes a little before
  // documents with the same score.
  Ranking rank(const Terms& terms, size_t limit, const Mask& mask = {}) const;
  // About the score of a document that has all words of the query. A document's score divided by this is its part of
  // the query.
  double max(const Terms& terms) const;
  // Replaces every unknown word by the nearest known word, or drops it if no word is near. Each comparison reads the
  // whole vocabulary, so only the first eight unknown words are compared; the others are dropped.
  Terms corrected(const Terms& terms) const;

  size_t documents() const { return documents_; }
  size_t vocabulary() const { return term_ends_.size(); }
  size_t bytes() const;

 private:
  friend class IndexBuilder;
  friend class QueryReader;
  static constexpr uint32_t kNone = ~uint32_t{0};
  static constexpr size_t kShard = 1 << 16;  // documents in a shard: their numbers in it fit 16 bits
  static constexpr size_t kBlock = 64;       // documents that are examined together
  static constexpr uint32_t kMaxImpact = 0xFFFF;
  struct Shard {
    std::vector<uint32_t> begins;    // first posting of each term, and the end of the last
    std::vector<uint32_t> postings;  // document within the shard << 16 | impact
  };
  std::string_view term_text(uint32_t term) const;
  uint32_t find_term(std::string_view stem) const;
  double rarity(uint32_t documents) const;
  struct Scratch;
  void add_up(const Shard& shard, const Terms& terms, Scratch& scratch) const;
  void favour_groups(std::vector<Hit>& hits) const;
  void hash_terms();
  void sort_by_length();
  std::vector<uint32_t> one_edit_away(std::string_view stem) const;

  size_t documents_ = 0;
  size_t preferred_ = 0;  // documents with a lower number are listed before the others
  std::vector<Shard> shards_;
  std::vector<uint32_t> groups_;  // the group of each document
  std::string term_texts_;
  std::vector<uint32_t> term_ends_;      // end of each term in term_texts_
  std::vector<uint32_t> term_table_;     // open addressing: hash of the text to term, kNone where free
  std::vector<uint32_t> frequency_;      // documents that have the term
  std::vector<uint32_t> by_length_;      // terms of up to kMaxMendedBytes bytes, by length and first byte
  std::vector<uint32_t> length_begins_;  // begin in by_length_ of each length and first byte (bucket_of), and its end
  Stemmer stemmer_;
};

class IndexBuilder {
 public:
  // Adds the fields of the next document. Documents are numbered in order, from 0. Numbers of groups must be small.
  void add(const std::array<std::string, kFields>& fields, uint32_t group = kNoGroup);
  // The first `preferred` documents are listed before all others, whatever their scores are.
  Index finish(size_t preferred = ~size_t{0}) &&;

 private:
  struct Posting {
    uint32_t term, document, counts;  // 5 bits for each field
  };
  struct Seen {  // a word as written
    uint32_t term;
    bool is_stop_word;
  };
  Seen seen(const std::string& word);
  std::vector<Posting> postings_;
  std::vector<std::array<uint16_t, kFields>> lengths_;
  std::vector<uint32_t> groups_;
  WordTable words_, terms_;
  std::vector<Seen> seen_;                             // for each word of words_
  std::vector<std::pair<uint32_t, uint32_t>> counts_;  // of the current document
  Stemmer stemmer_;
};

}  // namespace catalog
