#include "catalog/thesaurus.h"

#include <algorithm>

#include "catalog/words.h"

namespace catalog {

std::string_view Thesaurus::word(uint32_t number) const {
  const uint32_t begin = number == 0 ? 0 : word_ends_[number - 1];
  return std::string_view(words_).substr(begin, word_ends_[number] - begin);
}

std::string_view Thesaurus::stem(uint32_t number) const {
  const uint32_t begin = number == 0 ? 0 : stem_ends_[number - 1];
  return std::string_view(stems_).substr(begin, stem_ends_[number] - begin);
}

uint32_t Thesaurus::find(std::string_view text) const {
  uint32_t low = 0, high = static_cast<uint32_t>(size());
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (word(middle) < text) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < size() && word(low) == text ? low : kNone;
}

// The rules of morphy(7WN), for all parts of speech at once, and doubled consonants ("planned").
std::string_view Thesaurus::base_form(std::string_view text) const {
  const auto irregular = std::lower_bound(
      irregular_.begin(), irregular_.end(), text, [&](const Irregular& item, std::string_view requested) {
        return std::string_view(irregular_texts_).substr(item.begin, item.length) < requested;
      });
  if (irregular != irregular_.end() &&
      std::string_view(irregular_texts_).substr(irregular->begin, irregular->length) == text)
    return word(irregular->base);
  if (const uint32_t itself = find(text); itself != kNone) return word(itself);
  struct Ending {
    std::string_view of_form, of_base;
  };
  static constexpr Ending kEndings[] = {{"ies", "y"}, {"es", "e"},  {"es", ""},   {"s", ""},   {"ied", "y"},
                                        {"ed", "e"},  {"ed", ""},   {"ing", "e"}, {"ing", ""}, {"er", "e"},
                                        {"er", ""},   {"est", "e"}, {"est", ""}};
  for (const auto& [of_form, of_base] : kEndings) {
    if (text.size() < of_form.size() + 2 || !text.ends_with(of_form)) continue;
    const std::string_view front = text.substr(0, text.size() - of_form.size());
    if (const uint32_t base = find(std::string(front).append(of_base)); base != kNone) return word(base);
    if (of_base.empty() && front.size() > 2 && front.back() == front[front.size() - 2])
      if (const uint32_t base = find(front.substr(0, front.size() - 1)); base != kNone) return word(base);
  }
  return {};
}

std::vector<Thesaurus::Related> Thesaurus::related(std::string_view base) const {
  std::vector<Related> all;
  const uint32_t number = find(base);
  if (number == kNone) return all;
  for (uint32_t i = number == 0 ? 0 : related_ends_[number - 1]; i < related_ends_[number]; i++)
    all.push_back({stem(related_[i] >> 1), (related_[i] & 1) == 0 ? Kind::synonym : Kind::wider});
  return all;
}

size_t Thesaurus::bytes() const {
  return words_.capacity() + stems_.capacity() + irregular_texts_.capacity() +
         irregular_.capacity() * sizeof(Irregular) +
         (word_ends_.capacity() + stem_ends_.capacity() + related_ends_.capacity() + related_.capacity()) *
             sizeof(uint32_t);
}

}  // namespace catalog
