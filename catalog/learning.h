// Learning: finds the meaning of words in earlier searches, by the tools that were chosen after them. Separate from the
// index.
// A word means a tool if searches with the word lead to that tool more often than searches in general. So popular tools
// do not displace others, and after a search that led to several tools each gets its own words. Each word of a search
// is counted once, so that a search for several subjects finds several tools.
// If several tenants teach one memory, each has a share of the stored searches. Counted in full: the asker's own
// choices, and choices that two other tenants agree on. A choice of one other tenant alone is doubtful: it counts half,
// and never comes before the hits of the words themselves. Searches of a tool, searches, words and tools are bounded;
// the oldest search of the teacher with the most searches is forgotten first. Of a search, only the hashes of its words
// are stored, not its text: in memory, and in a file (saved, restored).
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "catalog/index.h"
#include "supervisor/base/clock.h"
#include "supervisor/base/result.h"

namespace catalog {

struct LearningLimits {
  size_t searches = 5'000;  // with 12 words each a file of 1.5 MB
  size_t searches_of_tool = 30;
  size_t tools = 8;                      // tools of one search
  std::chrono::hours lifetime{24 * 90};  // after the last time that a search taught
};

class Learning {
 public:
  struct Tool {
    std::string server, name;
    bool operator==(const Tool&) const = default;
  };
  struct Hint {
    Tool tool;
    double part = 0;        // of the query, by the weight of its words, that means this tool; less than 1
    bool doubtful = false;  // only one other tenant chose it
  };
  static size_t most_learned(size_t listed) { return listed * 2 / 5; }

  explicit Learning(LearningLimits limits = {}) : limits_(limits) {}

  // Learns that this tool was chosen after this search. The index weighs the words: a word that all tools have counts
  // little. `teacher`: the tenant, where several teach this memory.
  void teach(const Index& index, std::string_view query, const Tool& tool, Monotonic::time_point now = Monotonic::now(),
             std::string_view teacher = {});
  // The tool with the largest part comes first; equal parts by server and name.
  std::vector<Hint> hints(const Index& index, std::string_view query, std::string_view asker = {}) const;
  // Forget that searches led to one tool, or all that one teacher alone taught.
  void forget(const Tool& tool);
  void forget_teacher(std::string_view teacher);
  size_t size() const { return slots_.size(); }

  // All searches as lines of text, for a file. `since_1970_s`: a time in seconds since 1970, at `now`.
  std::string saved(int64_t since_1970_s, Monotonic::time_point now = Monotonic::now()) const;
  // Errors: invalid: not a text of saved(), with the line. Searches older than the lifetime, or beyond the limits, are
  // left out.
  static Result<Learning> restored(std::string_view text, int64_t since_1970_s, LearningLimits limits = {},
                                   Monotonic::time_point now = Monotonic::now());

 private:
  struct Word {
    uint64_t stem;  // hash of the stem
    double weight;
  };
  struct Words {
    std::vector<Word> all;  // sorted by stem
    double weight = 0;      // sum of all weights
    uint64_t key() const;   // hash of all stems
  };
  struct Use {
    uint32_t tool = 0;               // index in chosen_
    std::vector<uint32_t> teachers;  // indexes in teachers_, in the order of their teaching
  };
  struct Search {
    Words words;
    std::vector<Use> uses;
    Monotonic::time_point taught;
  };
  struct Chosen {
    Tool tool;
    std::vector<uint32_t> searches;  // searches that led to it, oldest first; empty: a free place
  };
  struct Meaning {
    uint32_t tool;  // index in chosen_
    double part;    // how much a word means this tool, 0 to 1
    bool doubtful;
  };
  static constexpr size_t kKnownTeachers = 1000;
  Words words_of(const Index& index, std::string_view query, size_t max) const;
  uint32_t position_of(const Tool& tool);
  uint32_t teacher_of(std::string_view name);
  uint32_t slot_for(Words words, Monotonic::time_point now);
  void use(uint32_t slot, uint32_t tool, uint32_t teacher);
  std::vector<Meaning> meanings(const std::vector<uint32_t>& having, uint32_t asker) const;
  void remove_use(uint32_t slot, uint32_t tool);
  void remove_if_unused(uint32_t slot);
  void make_room(Monotonic::time_point now);
  uint32_t oldest_of_greediest(const std::vector<uint32_t>& slots) const;
  static std::string tool_key(const Tool& tool);

  LearningLimits limits_;
  std::vector<Search> searches_;                                 // slots; a slot without uses is free
  std::vector<uint32_t> free_;                                   // numbers of free slots
  std::unordered_map<uint64_t, uint32_t> slots_;                 // slot of each search, by the key of its words
  std::unordered_map<uint64_t, std::vector<uint32_t>> by_word_;  // slots, in the order of their creation
  std::vector<Chosen> chosen_;
  std::unordered_map<std::string, uint32_t> indexes_;  // indexes in chosen_
  std::vector<std::string> teachers_;
  Monotonic::time_point tidied_{};
  Stemmer stemmer_;
};

}  // namespace catalog
