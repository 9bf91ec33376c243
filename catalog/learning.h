// Learning: what earlier searches meant, by what was chosen after them. Beside the index, not in it: a search is
// compared with those that were made before, and only what was chosen after a similar one moves up.
// What is popular does not crowd out others: a tool is worth its most similar search, however often it was chosen; a
// search that led to several tools tells little of those that many others led to; and of a list, what is there by
// learning alone is at most two fifths (most_learned).
// Bounded in searches, words and tools; the searches that taught longest ago are forgotten first. In memory only.
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
    double similarity = 0;  // 1: what was searched now is what was searched then
  };
  static constexpr double kSimilar = 0.4;  // less is no hint
  static size_t most_learned(size_t listed) { return listed * 2 / 5; }

  explicit Learning(LearningLimits limits = {}) : limits_(limits) {}

  // After this search, this tool was chosen. The words are weighed by the index: what every tool has says little.
  void teach(const Index& index, std::string_view query, const Tool& tool,
             Monotonic::time_point now = Monotonic::now());
  // Most similar first; equals by server and name.
  std::vector<Hint> hints(const Index& index, std::string_view query) const;
  // What is known of one tool, or everything.
  void forget(const Tool& tool);
  void forget_all() { searches_.clear(); }
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
    std::vector<Tool> tools;
    Monotonic::time_point taught;
  };
  size_t searches_of(const Tool& tool) const;
  Words words_of(const Index& index, std::string_view query) const;
  void make_room(Monotonic::time_point now);

  LearningLimits limits_;
  std::vector<Search> searches_;
  Stemmer stemmer_;
};

}  // namespace catalog
