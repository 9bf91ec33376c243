// The searches of Learning as lines of text: a head, then teachers, tools and searches, with tabs between fields.
//   warder searches 1
//   teacher NAME
//   tool SERVER NAME
//   search SECONDS STEM:WEIGHT,... TOOL:TEACHER,... TOOL:TEACHER,...
// STEM is 16 hexadecimal digits; tools and teachers are numbered from 0. The reader is strict: if any line is not of
// this form, the whole text is refused.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "catalog/learning.h"
#include "catalog/reader.h"

namespace catalog {
namespace {

constexpr std::string_view kHead = "warder searches 1";
constexpr size_t kMaxFieldsOfLine = 64;
constexpr double kMaxWeight = 100;

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> all;
  for (;;) {
    const size_t end = text.find(separator);
    all.push_back(text.substr(0, end));
    if (end == text.npos || all.size() > kMaxFieldsOfLine) return all;
    text.remove_prefix(end + 1);
  }
}

template <class Number>
std::optional<Number> number_of(std::string_view text, int base = 10) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> weight_of(std::string_view text) {  // thousandths
  const auto value = number_of<uint32_t>(text);
  if (!value || *value == 0 || *value > kMaxWeight * 1000) return std::nullopt;
  return *value / 1000.0;
}

}  // namespace

std::string Learning::saved(int64_t since_1970_s, Monotonic::time_point now) const {
  std::string text = std::string(kHead) + "\n";
  for (const auto& teacher : teachers_) text += "teacher\t" + teacher + "\n";
  for (const Chosen& item : chosen_) text += "tool\t" + item.tool.server + "\t" + item.tool.name + "\n";
  std::vector<uint32_t> order;  // by the time of teaching, oldest first
  for (const auto& [key, slot] : slots_) order.push_back(slot);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return searches_[a].taught != searches_[b].taught ? searches_[a].taught < searches_[b].taught : a < b;
  });
  for (uint32_t slot : order) {
    const Search& search = searches_[slot];
    const auto age = std::chrono::duration_cast<std::chrono::seconds>(now - search.taught).count();
    text += fmt::format("search\t{}\t", since_1970_s - age);
    for (const Word& word : search.words.all)
      text += fmt::format("{}{:016x}:{}", &word == search.words.all.data() ? "" : ",", word.stem,
                          std::max<int64_t>(1, std::llround(word.weight * 1000)));
    for (const Use& use : search.uses) {
      text += fmt::format("\t{}", use.tool);
      for (uint32_t teacher : use.teachers) text += fmt::format(":{}", teacher);
    }
    text += "\n";
  }
  return text;
}

Result<Learning> Learning::restored(std::string_view text, int64_t since_1970_s, LearningLimits limits,
                                    Monotonic::time_point now) {
  Learning learning(limits);
  std::vector<Tool> tools;
  std::vector<std::string> teachers;
  size_t line_number = 0;
  auto wrong = [&](std::string_view message) {
    return fail(Code::invalid, fmt::format("line {}: {}", line_number, message));
  };
  auto read_search = [&](const std::vector<std::string_view>& fields) -> Result<> {
    const auto taught = number_of<int64_t>(fields[1]);
    if (!taught || *taught < 0) return wrong("not a time");
    Words words;
    for (std::string_view field : split(fields[2], ',')) {
      const auto stem = number_of<uint64_t>(field.substr(0, std::min<size_t>(16, field.size())), 16);
      const auto weight = field.size() > 17 && field[16] == ':' ? weight_of(field.substr(17)) : std::nullopt;
      if (!stem || !weight || (!words.all.empty() && words.all.back().stem >= *stem)) return wrong("not a word");
      words.all.push_back({*stem, *weight});
      words.weight += *weight;
    }
    const std::chrono::seconds age(std::max<int64_t>(0, since_1970_s - *taught));
    const bool is_retained = age <= limits.lifetime && learning.size() < limits.searches;
    const uint32_t slot = is_retained ? learning.slot_for(std::move(words), now) : 0;
    if (is_retained) learning.searches_[slot].taught = now - age;
    for (size_t i = 3; i < fields.size(); i++) {
      const auto numbers = split(fields[i], ':');
      const auto tool = number_of<uint32_t>(numbers[0]);
      if (!tool || *tool >= tools.size() || numbers.size() < 2) return wrong("not a tool");
      for (size_t n = 1; n < numbers.size(); n++) {
        const auto teacher = number_of<uint32_t>(numbers[n]);
        if (!teacher || *teacher >= teachers.size()) return wrong("not a tenant that taught");
        if (is_retained)
          learning.use(slot, learning.position_of(tools[*tool]), learning.teacher_of(teachers[*teacher]));
      }
    }
    if (is_retained) learning.remove_if_unused(slot);
    return {};
  };
  while (!text.empty()) {
    const size_t end = text.find('\n');
    if (end == text.npos) return wrong("the text ends within a line");
    const auto fields = split(text.substr(0, end), '\t');
    text.remove_prefix(end + 1);
    if (line_number++ == 0) {
      if (fields.size() != 1 || fields[0] != kHead) return wrong("the file is not a record of searches");
    } else if (fields[0] == "teacher" && fields.size() == 2 && teachers.size() < kKnownTeachers) {
      teachers.emplace_back(fields[1]);
    } else if (fields[0] == "tool" && fields.size() == 3 && valid_tool_name(fields[2]) &&
               (fields[1].empty() || valid_label(fields[1]))) {
      tools.push_back({std::string(fields[1]), std::string(fields[2])});
    } else if (fields[0] == "search" && fields.size() > 3 && fields.size() <= kMaxFieldsOfLine) {
      CHECKED(read_search(fields));
    } else {
      return wrong("the line is neither a teacher nor a tool nor a search");
    }
  }
  if (line_number == 0) return wrong("the text is empty");
  return learning;
}

}  // namespace catalog
