#include "catalog/learning.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "supervisor/base/fnv.h"

namespace catalog {
namespace {

constexpr double kDoubt = 0.5;     // added to the number of searches with a word: they might have led to another tool
constexpr double kOthers = 50;     // added to the number of known searches, which matters while there are few
constexpr double kMin = 0.06;      // a tool that means a smaller part of the query is no hint
constexpr double kDoubtful = 0.5;  // factor for choices of one other tenant
constexpr size_t kMaxHints = 8;
constexpr size_t kMaxSearchWords = 32;     // words of a query
constexpr size_t kMaxTaught = 12;          // words of a search that are stored, the rarest
constexpr size_t kMaxHaving = 1000;        // the last searches with one word; earlier ones are not read
constexpr size_t kMaxTeachers = 8;         // teachers of one use
constexpr std::chrono::minutes kTidy{10};  // time between two removals of old searches

bool has(const std::vector<uint32_t>& all, uint32_t value) {
  return std::find(all.begin(), all.end(), value) != all.end();
}

}  // namespace

uint64_t Learning::Words::key() const {
  uint64_t hash = kFnvBasis<uint64_t>;
  for (const Word& word : all) hash = fnv_add<uint64_t>(hash, word.stem);
  return hash;
}

std::string Learning::tool_key(const Tool& tool) { return tool.server + '\n' + tool.name; }

Learning::Words Learning::words_of(const Index& index, std::string_view query, size_t max) const {
  Words words;
  for (const auto& word : index.terms(query).words) {  // the rarest first
    if (words.all.size() == max) break;
    const double tools = static_cast<double>(index.documents());
    const double weight = std::log(1 + (tools + 1) / (word.documents + 1));
    words.all.push_back({fnv_of<uint64_t>(stemmer_.stem(word.text)), weight});
  }
  std::sort(words.all.begin(), words.all.end(), [](const Word& a, const Word& b) { return a.stem < b.stem; });
  words.all.erase(
      std::unique(words.all.begin(), words.all.end(), [](const Word& a, const Word& b) { return a.stem == b.stem; }),
      words.all.end());
  for (const Word& word : words.all) words.weight += word.weight;
  return words;
}

void Learning::teach(const Index& index, std::string_view query, const Tool& tool, Monotonic::time_point now,
                     std::string_view teacher) {
  Words words = words_of(index, query, kMaxTaught);
  if (words.all.empty()) return;
  const uint32_t slot = slot_for(std::move(words), now);
  searches_[slot].taught = now;
  use(slot, position_of(tool), teacher_of(teacher));
  remove_if_unused(slot);
}

// The slot of the search with these words; a new slot if the search is new.
uint32_t Learning::slot_for(Words words, Monotonic::time_point now) {
  const uint64_t key = words.key();
  if (const auto it = slots_.find(key); it != slots_.end()) return it->second;
  make_room(now);
  uint32_t slot = static_cast<uint32_t>(searches_.size());
  if (free_.empty()) {
    searches_.emplace_back();
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  for (const Word& word : words.all) by_word_[word.stem].push_back(slot);
  searches_[slot] = Search{std::move(words), {}, now};
  slots_.emplace(key, slot);
  return slot;
}

uint32_t Learning::position_of(const Tool& tool) {
  const auto [known, is_new] = indexes_.try_emplace(tool_key(tool), static_cast<uint32_t>(chosen_.size()));
  if (!is_new) return known->second;
  const auto free =
      std::find_if(chosen_.begin(), chosen_.end(), [](const Chosen& item) { return item.searches.empty(); });
  if (free != chosen_.end()) {
    indexes_.erase(tool_key(free->tool));
    indexes_[tool_key(tool)] = static_cast<uint32_t>(free - chosen_.begin());
    free->tool = tool;
    return static_cast<uint32_t>(free - chosen_.begin());
  }
  chosen_.push_back({tool, {}});
  return static_cast<uint32_t>(chosen_.size() - 1);
}

// All tenants beyond kKnownTeachers get the last number.
uint32_t Learning::teacher_of(std::string_view name) {
  const auto it = std::find(teachers_.begin(), teachers_.end(), name);
  if (it != teachers_.end()) return static_cast<uint32_t>(it - teachers_.begin());
  if (teachers_.size() < kKnownTeachers) teachers_.emplace_back(name);
  return static_cast<uint32_t>(teachers_.size() - 1);
}

void Learning::use(uint32_t slot, uint32_t tool, uint32_t teacher) {
  auto& uses = searches_[slot].uses;
  const auto it = std::find_if(uses.begin(), uses.end(), [&](const Use& item) { return item.tool == tool; });
  if (it != uses.end()) {
    if (it->teachers.size() < kMaxTeachers && !has(it->teachers, teacher)) it->teachers.push_back(teacher);
    return;
  }
  if (uses.size() >= limits_.tools) return;
  uses.push_back({tool, {teacher}});
  auto& searches = chosen_[tool].searches;
  searches.push_back(slot);
  if (searches.size() <= limits_.searches_of_tool) return;
  const uint32_t old = oldest_of_greediest(searches);
  remove_use(old, tool);
  if (old != slot) remove_if_unused(old);
}

// Finds the teacher that taught most of these searches, and returns that teacher's oldest search.
uint32_t Learning::oldest_of_greediest(const std::vector<uint32_t>& slots) const {
  std::vector<size_t> count(teachers_.size());
  for (uint32_t slot : slots) count[searches_[slot].uses.front().teachers.front()]++;
  const auto greediest = static_cast<uint32_t>(std::max_element(count.begin(), count.end()) - count.begin());
  uint32_t oldest = ~uint32_t{0};
  for (uint32_t slot : slots) {
    if (searches_[slot].uses.front().teachers.front() != greediest) continue;
    if (oldest == ~uint32_t{0} || searches_[slot].taught < searches_[oldest].taught) oldest = slot;
  }
  return oldest;
}

void Learning::remove_use(uint32_t slot, uint32_t tool) {
  std::erase_if(searches_[slot].uses, [&](const Use& item) { return item.tool == tool; });
  std::erase(chosen_[tool].searches, slot);
}

void Learning::remove_if_unused(uint32_t slot) {
  Search& search = searches_[slot];
  if (!search.uses.empty() || search.words.all.empty()) return;
  slots_.erase(search.words.key());
  for (const Word& word : search.words.all) {
    const auto having = by_word_.find(word.stem);
    std::erase(having->second, slot);
    if (having->second.empty()) by_word_.erase(having);
  }
  search = {};
  free_.push_back(slot);
}

void Learning::make_room(Monotonic::time_point now) {
  auto drop = [&](uint32_t slot) {
    while (!searches_[slot].uses.empty()) remove_use(slot, searches_[slot].uses.back().tool);
    remove_if_unused(slot);
  };
  if (now - tidied_ >= kTidy) {
    tidied_ = now;
    for (uint32_t slot = 0; slot < searches_.size(); slot++)
      if (!searches_[slot].uses.empty() && now - searches_[slot].taught > limits_.lifetime) drop(slot);
  }
  if (slots_.size() < limits_.searches) return;
  std::vector<uint32_t> all;
  for (const auto& [key, slot] : slots_) all.push_back(slot);
  drop(oldest_of_greediest(all));
}

// The tools that a word means, by the searches with the word: how often they led to the tool, minus how often all
// searches do. Choices of others count like the asker's own once two others agree.
std::vector<Learning::Meaning> Learning::meanings(const std::vector<uint32_t>& having, uint32_t asker) const {
  struct Count {
    uint32_t tool = 0, own = 0, all = 0;
    std::vector<uint32_t> strangers;  // other teachers; two are enough
  };
  std::vector<Count> counts;
  std::unordered_map<uint32_t, size_t> at;
  const size_t from = having.size() > kMaxHaving ? having.size() - kMaxHaving : 0;
  for (size_t i = from; i < having.size(); i++)
    for (const Use& use : searches_[having[i]].uses) {
      const auto [known, is_new] = at.try_emplace(use.tool, counts.size());
      if (is_new) counts.push_back({use.tool, 0, 0, {}});
      Count& count = counts[known->second];
      count.all++;
      if (has(use.teachers, asker)) count.own++;
      for (uint32_t teacher : use.teachers)
        if (teacher != asker && count.strangers.size() < 2 && !has(count.strangers, teacher))
          count.strangers.push_back(teacher);
    }
  const double searches = static_cast<double>(having.size() - from) + kDoubt;
  const double total = static_cast<double>(slots_.size()) + kOthers;
  std::vector<Meaning> all;
  for (const Count& count : counts) {
    const bool agreed = count.strangers.size() >= 2, doubtful = !agreed && count.own == 0;
    const double usual = static_cast<double>(chosen_[count.tool].searches.size()) / total;
    const double part = (agreed || doubtful ? count.all : count.own) / searches - usual;
    if (part > 0) all.push_back({count.tool, doubtful ? part * kDoubtful : part, doubtful});
  }
  return all;
}

std::vector<Learning::Hint> Learning::hints(const Index& index, std::string_view query, std::string_view asker) const {
  std::vector<Hint> all;
  if (slots_.empty()) return all;
  const Words words = words_of(index, query, kMaxSearchWords);
  if (words.all.empty()) return all;
  const auto teacher = static_cast<uint32_t>(std::find(teachers_.begin(), teachers_.end(), asker) - teachers_.begin());
  std::vector<std::vector<Meaning>> intended;
  std::vector<double> open;  // the part of each word's weight that no hint has used yet
  for (const Word& word : words.all) {
    const auto having = by_word_.find(word.stem);
    intended.push_back(having == by_word_.end() ? std::vector<Meaning>() : meanings(having->second, teacher));
    open.push_back(word.weight);
  }
  struct Part {
    double all = 0, sure = 0;
  };
  std::unordered_map<uint32_t, Part> parts;
  while (all.size() < kMaxHints) {
    parts.clear();
    for (size_t i = 0; i < intended.size(); i++)
      for (const Meaning& meaning : intended[i]) {
        const double part = open[i] * meaning.part / words.weight;
        parts[meaning.tool].all += part;
        if (!meaning.doubtful) parts[meaning.tool].sure += part;
      }
    auto name = [&](uint32_t tool) { return std::tie(chosen_[tool].tool.server, chosen_[tool].tool.name); };
    const auto best = std::max_element(parts.begin(), parts.end(), [&](const auto& a, const auto& b) {
      return a.second.all != b.second.all ? a.second.all < b.second.all : name(a.first) > name(b.first);
    });
    if (best == parts.end() || best->second.all < kMin) break;
    const uint32_t tool = best->first;
    all.push_back({chosen_[tool].tool, best->second.all, best->second.sure < kMin});
    for (size_t i = 0; i < intended.size(); i++) {
      for (const Meaning& meaning : intended[i])
        if (meaning.tool == tool) open[i] *= 1 - meaning.part;
      std::erase_if(intended[i], [&](const Meaning& meaning) { return meaning.tool == tool; });
    }
  }
  return all;
}

void Learning::forget(const Tool& tool) {
  const auto it = indexes_.find(tool_key(tool));
  if (it == indexes_.end()) return;
  const auto searches = chosen_[it->second].searches;
  for (uint32_t slot : searches) {
    remove_use(slot, it->second);
    remove_if_unused(slot);
  }
}

void Learning::forget_teacher(std::string_view teacher) {
  const auto it = std::find(teachers_.begin(), teachers_.end(), teacher);
  if (it == teachers_.end()) return;
  const auto number = static_cast<uint32_t>(it - teachers_.begin());
  for (uint32_t slot = 0; slot < searches_.size(); slot++) {
    std::vector<uint32_t> removed;
    for (Use& use : searches_[slot].uses) {
      std::erase(use.teachers, number);
      if (use.teachers.empty()) removed.push_back(use.tool);
    }
    for (uint32_t tool : removed) remove_use(slot, tool);
    remove_if_unused(slot);
  }
}

}  // namespace catalog
