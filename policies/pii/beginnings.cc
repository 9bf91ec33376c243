#include "policies/pii/beginnings.h"

#include <charconv>

namespace policies {
namespace {

constexpr unsigned kMany = 12;  // from this number of repetitions on, they are cut off
constexpr const char* kSome = "{8}";

// Reader: reads one expression once, from left to right. At any time, the part written matches wherever the part read
// matches.
class Reader {
 public:
  explicit Reader(std::string_view expression) : remaining_(expression) {}

  // Reads parts between "|", up to the end or a closing bracket.
  struct Part {
    std::string text;
    bool cut = false;  // the rest of the expression is left out
  };
  Part alternatives() {
    Part all = sequence();
    while (remaining_.starts_with('|')) {
      remaining_.remove_prefix(1);
      const Part other = sequence();
      all.text += '|' + other.text;
      all.cut = all.cut || other.cut;
    }
    return all;
  }

 private:
  Part sequence() {
    Part all;
    while (!remaining_.empty() && remaining_[0] != '|' && remaining_[0] != ')') {
      Part atom = read_atom();
      const std::string repeated = repetition(atom);
      if (all.cut) continue;
      all.cut = atom.cut;
      all.text += repeated;
    }
    return all;
  }

  Part read_atom() {
    if (remaining_[0] == '(') {
      const size_t head = remaining_.find(':') + 1;  // "(?:", "(?i:"
      Part group{std::string(take(head)), false};
      Part inside = alternatives();
      group.text += inside.text + std::string(take(1));
      group.cut = inside.cut;
      return group;
    }
    size_t length = 1;
    if (remaining_[0] == '\\') length = remaining_.substr(1, 1) == "x" ? 4 : 2;
    if (remaining_[0] == '[') {
      length = remaining_.substr(1, 1) == "]" ? 2 : 1;
      while (remaining_[length] != ']') length += remaining_[length] == '\\' ? 2 : 1;
      length++;
    }
    return {std::string(take(length)), false};
  }

  // The text of the atom with its repetition. May cut the atom.
  std::string repetition(Part& atom) {
    if (remaining_.empty()) return atom.text;
    if (remaining_[0] == '?' || remaining_[0] == '*' || remaining_[0] == '+') {
      const char sign = take(1)[0];
      if (!atom.cut) return atom.text + sign;
      return sign == '+' ? atom.text : std::string();  // with * or ? the atom may be absent, and the rest is left out
    }
    if (remaining_[0] != '{') return atom.text;
    const std::string_view written = take(remaining_.find('}') + 1);
    unsigned least = 0, max = 0;
    const char* const end = written.data() + written.size();
    const char* const behind = std::from_chars(written.data() + 1, end, least).ptr;
    if (*behind == '}') max = least;
    if (*behind == ',') std::from_chars(behind + 1, end, max);
    if (atom.cut) return least > 0 ? atom.text : std::string();
    if (least >= kMany) {
      atom.cut = true;
      return atom.text + kSome;
    }
    if (max >= kMany) return atom.text + '{' + std::to_string(least) + ",}";
    return atom.text + std::string(written);
  }

  std::string_view take(size_t length) {
    const std::string_view name = remaining_.substr(0, length);
    remaining_.remove_prefix(name.size());
    return name;
  }

  std::string_view remaining_;
};

}  // namespace

std::string beginning_of(std::string_view expression) { return Reader(expression).alternatives().text; }

}  // namespace policies
