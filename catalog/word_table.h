// WordTable: a number for each different word, in the order of first use. One array of slots and one of letters: a
// look-up of a word that is there touches two places of memory, where std::unordered_map follows pointers. Used while
// an index is built, when every word of every definition is looked up.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace catalog {

class WordTable {
 public:
  // The word's number, which is new when size() grew by it.
  uint32_t number_of(std::string_view word);
  size_t size() const { return ends_.size(); }
  // All words in the order of their numbers, one behind the other, and where each ends. The table is empty afterwards.
  void take(std::string& texts, std::vector<uint32_t>& ends);

 private:
  struct Slot {
    uint32_t hash = 0;
    uint32_t number = 0;  // plus 1; 0: free
  };
  std::string_view text(uint32_t number) const;
  void grow();
  std::vector<Slot> slots_;  // a power of two of them, at most half in use
  std::string texts_;
  std::vector<uint32_t> ends_;
};

}  // namespace catalog
