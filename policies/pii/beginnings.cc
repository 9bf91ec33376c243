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
  explicit Reader(std::string_view expression) : left_(expression) {}

  // Reads parts between "|", up to the end or a closing bracket.
  struct Part {
    std::string text;
    bool cut = false;  // the rest of the expression is left out
  };
  Part alternatives() {
    Part all = sequence();
    while (left_.starts_with('|')) {
      left_.remove_prefix(1);
      const Part other = sequence();
      all.text += '|' + other.text;
      all.cut = all.cut || other.cut;
    }
    return all;
  }

 private:
  Part sequence() {
    Part all;
    while (!left_.empty() && left_[0] != '|' && left_[0] != ')') {
      Part atom = read_atom();
      const std::string repeated = repetition(atom);
      if (all.cut) continue;
      all.cut = atom.cut;
      all.text += repeated;
    }
    return all;
  }

  Part read_atom() {
    if (left_[0] == '(') {
      const size_t head = left_.find(':') + 1;  // "(?:", "(?i:"
      Part group{std::string(take(head)), false};
      Part inside = alternatives();
      group.text += inside.text + std::string(take(1));
      group.cut = inside.cut;
      return group;
    }
    size_t length = 1;
    if (left_[0] == '\\') length = left_.substr(1, 1) == "x" ? 4 : 2;
    if (left_[0] == '[') {
      length = left_.substr(1, 1) == "]" ? 2 : 1;
      while (left_[length] != ']') length += left_[length] == '\\' ? 2 : 1;
      length++;
    }
    return {std::string(take(length)), false};
  }

  // The text of the atom with its repetition. May cut the atom.
  std::string repetition(Part& atom) {
    if (left_.empty()) return atom.text;
    if (left_[0] == '?' || left_[0] == '*' || left_[0] == '+') {
      const char sign = take(1)[0];
      if (!atom.cut) return atom.text + sign;
      return sign == '+' ? atom.text : std::string();  // with * or ? the atom may be absent, and the rest is left out
    }
    if (left_[0] != '{') return atom.text;
    const std::string_view written = take(left_.find('}') + 1);
    unsigned least = 0, most = 0;
    const char* const end = written.data() + written.size();
    const char* const behind = std::from_chars(written.data() + 1, end, least).ptr;
    if (*behind == '}') most = least;
    if (*behind == ',') std::from_chars(behind + 1, end, most);
    if (atom.cut) return least > 0 ? atom.text : std::string();
    if (least >= kMany) {
      atom.cut = true;
      return atom.text + kSome;
    }
    if (most >= kMany) return atom.text + '{' + std::to_string(least) + ",}";
    return atom.text + std::string(written);
  }

  std::string_view take(size_t length) {
    const std::string_view taken = left_.substr(0, length);
    left_.remove_prefix(taken.size());
    return taken;
  }

  std::string_view left_;
};

}  // namespace

std::string beginning_of(std::string_view expression) { return Reader(expression).alternatives().text; }

}  // namespace policies
