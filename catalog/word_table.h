// WordTable: gives each different word a number, in the order of first use. It has one array of slots and one of
// letters: the look-up of a known word touches two places of memory, where std::unordered_map follows pointers. Used
// while an index is built, when every word of every definition is looked up.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace catalog {

class WordTable {
 public:
  // The number of the word. The word is new if size() grew by the call.
  uint32_t number_of(std::string_view word);
  size_t size() const { return ends_.size(); }
  // Moves out all words in the order of their numbers, without separators, and the end of each. The table is empty
  // afterwards.
  void take(std::string& texts, std::vector<uint32_t>& ends);

 private:
  struct Slot {
    uint32_t hash = 0;
    uint32_t number = 0;  // number + 1; 0: a free slot
  };
  std::string_view text(uint32_t number) const;
  void grow();
  std::vector<Slot> slots_;  // the size is a power of two, at most half is in use
  std::string texts_;
  std::vector<uint32_t> ends_;
};

}  // namespace catalog
