// How well personal data is found in two halves of labelled lines: those the shapes were tuned on, and those held out.
// In pii_lines/*.txt a datum stands as ⟦type:text⟧ and a new line as ⏎; a line without data is a clean one.
#include <algorithm>
#include <fstream>
#include <map>

#include "policies/pii/detect.h"
#include "tests/catch.h"

namespace {

struct Line {
  std::string text;
  std::vector<policies::PiiFinding> data;
  std::vector<std::string> types;  // of the data
};

Line read_line(std::string_view marked) {
  constexpr std::string_view kOpen = "\xE2\x9F\xA6", kClose = "\xE2\x9F\xA7", kBreak = "\xE2\x8F\x8E";
  Line line;
  for (size_t at = 0; at < marked.size();) {
    const std::string_view rest = marked.substr(at);
    if (rest.starts_with(kBreak)) {
      line.text += '\n';
      at += kBreak.size();
    } else if (rest.starts_with(kOpen)) {
      const size_t colon = rest.find(':');
      line.types.emplace_back(rest.substr(kOpen.size(), colon - kOpen.size()));
      line.data.push_back({line.text.size(), 0, {}});
      at += colon + 1;
    } else if (rest.starts_with(kClose)) {
      line.data.back().end = line.text.size();
      at += kClose.size();
    } else {
      line.text += marked[at++];
    }
  }
  return line;
}

struct Score {
  size_t right = 0, wrong = 0, missed = 0;
  double precision() const { return right + wrong == 0 ? 1 : double(right) / double(right + wrong); }
  double recall() const { return right + missed == 0 ? 1 : double(right) / double(right + missed); }
  double f1() const { return right == 0 ? 0 : 2 * precision() * recall() / (precision() + recall()); }
};

struct Scores {
  std::map<std::string, Score> types;
  Score all;
  size_t lines = 0, clean = 0, touched = 0, characters = 0, hidden = 0;
};

Scores score(const std::string& half) {
  const auto detector = *policies::PiiDetector::make({});
  std::ifstream file(std::string(WARDER_SOURCE_DIR) + "/tests/policies/pii_lines/" + half + ".txt");
  REQUIRE(file);
  Scores scores;
  for (std::string marked; std::getline(file, marked);) {
    const Line line = read_line(marked);
    const auto it = detector->find(line.text);
    std::vector<bool> right(it.size());
    for (size_t i = 0; i < line.data.size(); i++) {
      const auto& datum = line.data[i];
      bool hit = false;
      for (size_t k = 0; k < it.size(); k++) {
        if (it[k].end <= datum.begin || datum.end <= it[k].begin) continue;
        scores.hidden += std::min(it[k].end, datum.end) - std::max(it[k].begin, datum.begin);
        if (it[k].type == line.types[i]) hit = right[k] = true;
      }
      scores.characters += datum.end - datum.begin;
      (hit ? scores.types[line.types[i]].right : scores.types[line.types[i]].missed)++;
      (hit ? scores.all.right : scores.all.missed)++;
    }
    for (size_t k = 0; k < it.size(); k++) {
      if (right[k]) continue;
      scores.types[std::string(it[k].type)].wrong++;
      scores.all.wrong++;
    }
    (line.data.empty() ? scores.clean : scores.lines)++;
    if (line.data.empty() && !it.empty()) scores.touched++;
  }
  return scores;
}

}  // namespace

TEST_CASE("personal data is found in lines of many kinds, and lines without any stay as they are", "[pii]") {
  const auto [half, least, most_touched] = GENERATE(table<const char*, double, double>({
      {"tuning", 0.99, 0.0},
      {"held_out", 0.97, 0.01},
  }));
  const Scores scores = score(half);
  std::string table = half;
  for (const auto& [type, one] : scores.types)
    table +=
        "\n  " + type + ": precision " + std::to_string(one.precision()) + ", recall " + std::to_string(one.recall());
  CAPTURE(table, scores.all.f1());
  CHECK(scores.lines >= 250);
  CHECK(scores.clean >= 200);
  CHECK(scores.all.f1() >= least);
  CHECK(double(scores.hidden) >= 0.98 * double(scores.characters));
  CHECK(double(scores.touched) <= most_touched * double(scores.clean));
  // No type hides behind the others.
  CHECK(scores.types.size() == policies::PiiDetector::types().size());
  for (const auto& [type, one] : scores.types) {
    CAPTURE(type);
    CHECK(one.precision() >= 0.9);
    CHECK(one.recall() >= 0.9);
  }
}
