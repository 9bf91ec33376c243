// Learning: what words meant in earlier searches, by what was chosen after them. Beside the index, not in it.
// A word means a tool as far as searches that have the word lead to that tool more often than any search does: so what
// is popular does not crowd out others, and of a search that led to several tools each gets its own words. Each word
// of a search is accounted for once, so that a search for several things finds several tools.
// Where several tenants teach one memory, each has a share of the searches that are kept. What an asker taught, and
// what two others agree on, counts in full; what one other tenant alone taught is in doubt: it counts half, and never
// comes before what the words themselves find. Bounded in searches of a tool, searches, words and tools; what taught
// longest ago is forgotten first. Of a search the hashes of its words are kept, not its text: in memory, and in a file
// (saved, restored).
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
    double part = 0;        // of what is searched, by the weight of its words, that means this tool; less than 1
    bool doubtful = false;  // one other tenant alone says so
  };
  static size_t most_learned(size_t listed) { return listed * 2 / 5; }

  explicit Learning(LearningLimits limits = {}) : limits_(limits) {}

  // After this search, this tool was chosen. The words are weighed by the index: what every tool has says little.
  // `teacher`: the tenant, where several teach this memory.
  void teach(const Index& index, std::string_view query, const Tool& tool, Monotonic::time_point now = Monotonic::now(),
             std::string_view teacher = {});
  // What accounts for most comes first; equals by server and name.
  std::vector<Hint> hints(const Index& index, std::string_view query, std::string_view asker = {}) const;
  // What is known of one tool, or by one teacher.
  void forget(const Tool& tool);
  void forget_teacher(std::string_view teacher);
  size_t size() const { return slots_.size(); }

  // All of it as lines of text, for a file; with the time of the clock on the wall, in seconds, at `now`.
  std::string saved(int64_t wall_seconds, Monotonic::time_point now = Monotonic::now()) const;
  // Errors: invalid: not such a text, with the line. What is older than the lifetime is left out, what is more than
  // the limits allow, too.
  static Result<Learning> restored(std::string_view text, int64_t wall_seconds, LearningLimits limits = {},
                                   Monotonic::time_point now = Monotonic::now());

 private:
  struct Word {
    uint64_t stem;  // a hash of it
    double weight;
  };
  struct Words {
    std::vector<Word> all;  // by stem
    double weight = 0;      // of all of them
    uint64_t key() const;   // of the stems
  };
  struct Use {
    uint32_t tool = 0;               // in chosen_
    std::vector<uint32_t> teachers;  // in teachers_, in the order they taught
  };
  struct Search {
    Words words;
    std::vector<Use> uses;
    Monotonic::time_point taught;
  };
  struct Chosen {
    Tool tool;
    std::vector<uint32_t> searches;  // that led to it, oldest first; none: a free place
  };
  struct Meaning {
    uint32_t tool;  // in chosen_
    double part;    // of a word that means this tool, 0 to 1
    bool doubtful;
  };
  static constexpr size_t kKnownTeachers = 1000;
  Words words_of(const Index& index, std::string_view query, size_t most) const;
  uint32_t place_of(const Tool& tool);
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
  std::vector<Search> searches_;                                 // slots; those without uses are free
  std::vector<uint32_t> free_;                                   // slots
  std::unordered_map<uint64_t, uint32_t> slots_;                 // of each search, by the key of its words
  std::unordered_map<uint64_t, std::vector<uint32_t>> by_word_;  // slots, in the order of their making
  std::vector<Chosen> chosen_;
  std::unordered_map<std::string, uint32_t> places_;  // in chosen_
  std::vector<std::string> teachers_;
  Monotonic::time_point tidied_{};
  Stemmer stemmer_;
};

}  // namespace catalog
