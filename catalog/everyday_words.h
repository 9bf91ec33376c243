// Everyday words: people's words for the subjects of tools, "pic" for image, "chilly" for temperature. Written for this
// project, by trade. Used beside WordNet, which is optional, knows no trades and takes "drive" for willpower.
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
    bool is_hint;      // a related subject, not the same meaning: "umbrella" and weather
  };
  EverydayWords();
  // Relations of a word's stem, or of two stems with a space between them; empty: the list does not have it.
  const std::vector<Related>& related(const std::string& stem) const;

 private:
  enum class Meaning { same, related };
  void relate(std::string_view word, std::string_view other, Meaning meaning);
  std::unordered_map<std::string, std::vector<Related>> words_;
};

// The list. The first call makes it (about 1 ms).
const EverydayWords& everyday_words();

}  // namespace catalog
