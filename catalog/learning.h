// Learning: what words meant in earlier searches, by what was chosen after them. Beside the index, not in it.
// A word means a tool as far as searches that have the word lead to that tool more often than any search does: so what
// is popular does not crowd out others, and of a search that led to several tools each gets its own words. Each word
// of a search is accounted for once, so that a search for several things finds several tools. Of a list, what is there
// by learning alone is at most two fifths (most_learned).
// Bounded in searches, words and tools; the searches that taught longest ago are forgotten first. In memory only: a
// restart forgets everything.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/index.h"
#include "supervisor/base/clock.h"

namespace catalog {

struct LearningLimits {
  size_t searches = 1000;
  size_t tools = 8;                      // of one search
  std::chrono::hours lifetime{24 * 90};  // after a search last taught
};

class Learning {
 public:
  struct Tool {
    std::string server, name;
    bool operator==(const Tool&) const = default;
  };
  struct Hint {
    Tool tool;
    double part = 0;  // of what is searched, by the weight of its words, that means this tool; less than 1
  };
  static size_t most_learned(size_t listed) { return listed * 2 / 5; }

  explicit Learning(LearningLimits limits = {}) : limits_(limits) {}

  // After this search, this tool was chosen. The words are weighed by the index: what every tool has says little.
  void teach(const Index& index, std::string_view query, const Tool& tool,
             Monotonic::time_point now = Monotonic::now());
  // What accounts for most comes first; equals by server and name.
  std::vector<Hint> hints(const Index& index, std::string_view query) const;
  // What is known of one tool, or everything.
  void forget(const Tool& tool);
  void forget_all();
  size_t size() const { return searches_.size(); }

 private:
  struct Word {
    uint64_t stem;  // a hash of it
    double weight;
  };
  struct Words {
    std::vector<Word> all;  // by stem
    double weight = 0;      // of all of them
  };
  struct Search {
    Words words;
    std::vector<uint32_t> tools;  // in chosen_
    Monotonic::time_point taught;
  };
  struct Chosen {
    Tool tool;
    uint32_t searches = 0;  // that led to it; 0: a free place
  };
  struct Meaning {
    uint32_t tool;  // in chosen_
    double part;    // of a word that means this tool, 0 to 1
  };
  Words words_of(const Index& index, std::string_view query) const;
  uint32_t place_of(const Tool& tool);
  std::vector<Meaning> meanings(const std::vector<const Search*>& searches) const;
  void drop(Search& search);
  void make_room(Monotonic::time_point now);

  LearningLimits limits_;
  std::vector<Search> searches_;
  std::vector<Chosen> chosen_;
  Stemmer stemmer_;
};

}  // namespace catalog
