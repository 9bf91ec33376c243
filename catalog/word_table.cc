#include "catalog/word_table.h"

#include <functional>
#include <utility>

namespace catalog {

std::string_view WordTable::text(uint32_t number) const {
  const uint32_t begin = number == 0 ? 0 : ends_[number - 1];
  return std::string_view(texts_).substr(begin, ends_[number] - begin);
}

void WordTable::grow() {
  std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(slots_.empty() ? 1024 : slots_.size() * 2));
  for (const Slot& slot : old) {
    if (slot.number == 0) continue;
    size_t at = slot.hash & (slots_.size() - 1);
    while (slots_[at].number != 0) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = slot;
  }
}

uint32_t WordTable::number_of(std::string_view word) {
  if (ends_.size() * 2 >= slots_.size()) grow();
  const uint64_t full = std::hash<std::string_view>()(word);
  const auto hash = static_cast<uint32_t>(full ^ (full >> 32));
  size_t at = hash & (slots_.size() - 1);
  for (; slots_[at].number != 0; at = (at + 1) & (slots_.size() - 1))
    if (slots_[at].hash == hash && text(slots_[at].number - 1) == word) return slots_[at].number - 1;
  texts_ += word;
  ends_.push_back(static_cast<uint32_t>(texts_.size()));
  slots_[at] = {hash, static_cast<uint32_t>(ends_.size())};
  return static_cast<uint32_t>(ends_.size() - 1);
}

void WordTable::take(std::string& texts, std::vector<uint32_t>& ends) {
  texts = std::exchange(texts_, {});
  ends = std::exchange(ends_, {});
  slots_ = {};
  texts.shrink_to_fit();
  ends.shrink_to_fit();
}

}  // namespace catalog
