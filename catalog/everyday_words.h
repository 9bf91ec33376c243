// Everyday words: how people call what tools are named for, "pic" for image, "chilly" for temperature. Written by us,
// by trade; beside WordNet, which is optional, knows no trade and takes "drive" for willpower.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace catalog {

class EverydayWords {
 public:
  struct Related {
    std::string stem;  // as Stemmer makes it
    bool is_hint;      // what it is about, rather than what it means: "umbrella" and weather
  };
  EverydayWords();
  // Of a word's stem, or of two with a space between; empty: it is not on the list.
  const std::vector<Related>& related(const std::string& stem) const;

 private:
  void relate(std::string_view word, std::string_view other, bool is_hint);
  std::unordered_map<std::string, std::vector<Related>> words_;
};

// The list, made at the first call (about 1 ms).
const EverydayWords& everyday_words();

}  // namespace catalog
