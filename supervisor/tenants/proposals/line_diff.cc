#include "supervisor/tenants/proposals/line_diff.h"

#include <algorithm>
#include <cstdint>

namespace proposals {
namespace {

using LineList = std::vector<std::string_view>;

// One edit of a text: lines [old_begin, old_end) become lines [new_begin, new_end).
struct LineEdit {
  size_t old_begin, old_end, new_begin, new_end;
};

// Walks along diagonals: `furthest[k]` is the line of the old text that d edits reach on diagonal k.
class EditSearch {
 public:
  EditSearch(const LineList& before, const LineList& after, size_t begin, size_t old_end, size_t new_end)
      : before_(before), after_(after), begin_(begin), n_(old_end - begin), m_(new_end - begin) {}

  // False: there are more than kMaxLineEdits edits.
  bool search() {
    const auto max = static_cast<int64_t>(std::min(kMaxLineEdits, n_ + m_));
    std::vector<int64_t> furthest(static_cast<size_t>(2 * max + 3), 0);
    const int64_t middle = max + 1;
    const auto n = static_cast<int64_t>(n_), m = static_cast<int64_t>(m_);
    for (int64_t d = 0; d <= max; d++) {
      for (int64_t k = -d; k <= d; k += 2) {
        int64_t x = is_down(furthest, middle, d, k) ? at(furthest, middle + k + 1) : at(furthest, middle + k - 1) + 1;
        while (x < n && x - k < m && x - k >= 0 && same(x, x - k)) x++;
        furthest[static_cast<size_t>(middle + k)] = x;
        if (x >= n && x - k >= m) {
          trace_.push_back(furthest_of(furthest, middle, d));
          depth_ = d;
          return true;
        }
      }
      trace_.push_back(furthest_of(furthest, middle, d));
    }
    return false;
  }

  // In the order of the text; neighbours are joined.
  std::vector<LineEdit> edits() const {
    std::vector<LineEdit> reversed;
    auto x = static_cast<int64_t>(n_), y = static_cast<int64_t>(m_);
    for (int64_t d = depth_; d > 0; d--) {
      const std::vector<int64_t>& earlier = trace_[static_cast<size_t>(d - 1)];  // diagonals -(d-1) to d-1
      const int64_t k = x - y;
      const int64_t below = k - 1 >= -(d - 1) ? earlier[static_cast<size_t>(k - 1 + d - 1)] : -1;
      const int64_t above = k + 1 <= d - 1 ? earlier[static_cast<size_t>(k + 1 + d - 1)] : -1;
      const bool down = k == -d || (k != d && below < above);
      const int64_t from_x = down ? above : below, from_y = from_x - (down ? k + 1 : k - 1);
      const auto ux = static_cast<size_t>(from_x) + begin_, uy = static_cast<size_t>(from_y) + begin_;
      reversed.push_back(down ? LineEdit{ux, ux, uy, uy + 1} : LineEdit{ux, ux + 1, uy, uy});
      x = from_x, y = from_y;
    }
    std::vector<LineEdit> joined_edits;
    for (auto edit = reversed.rbegin(); edit != reversed.rend(); ++edit) {
      LineEdit* const last = joined_edits.empty() ? nullptr : &joined_edits.back();
      if (last != nullptr && last->old_end == edit->old_begin && last->new_end == edit->new_begin) {
        last->old_end = edit->old_end, last->new_end = edit->new_end;
      } else {
        joined_edits.push_back(*edit);
      }
    }
    return joined_edits;
  }

 private:
  static int64_t at(const std::vector<int64_t>& furthest, int64_t index) {
    return furthest[static_cast<size_t>(index)];
  }
  static bool is_down(const std::vector<int64_t>& furthest, int64_t middle, int64_t d, int64_t k) {
    return k == -d || (k != d && at(furthest, middle + k - 1) < at(furthest, middle + k + 1));
  }
  static std::vector<int64_t> furthest_of(const std::vector<int64_t>& furthest, int64_t middle, int64_t d) {
    return {furthest.begin() + (middle - d), furthest.begin() + (middle + d + 1)};
  }
  bool same(int64_t x, int64_t y) const {
    return before_[begin_ + static_cast<size_t>(x)] == after_[begin_ + static_cast<size_t>(y)];
  }

  const LineList &before_, &after_;
  size_t begin_, n_, m_;
  int64_t depth_ = 0;
  std::vector<std::vector<int64_t>> trace_;  // by d: the diagonals -d to d
};

std::vector<LineEdit> edits_between(const LineList& before, const LineList& after) {
  size_t begin = 0, old_end = before.size(), new_end = after.size();
  while (begin < old_end && begin < new_end && before[begin] == after[begin]) begin++;
  while (old_end > begin && new_end > begin && before[old_end - 1] == after[new_end - 1]) old_end--, new_end--;
  if (begin == old_end && begin == new_end) return {};
  EditSearch search(before, after, begin, old_end, new_end);
  if (search.search()) return search.edits();
  return {{begin, old_end, begin, new_end}};
}

class HunkBuilder {
 public:
  HunkBuilder(const LineList& before, const LineList& after) : before_(before), after_(after) {}

  void add(const LineEdit& edit) {
    const size_t context = std::min(edit.old_begin, kContextLines);
    if (hunks_.empty() || edit.old_begin > end_of_old_ + 2 * kContextLines) {
      finish();
      hunks_.push_back({edit.old_begin - context, 0, edit.new_begin - context, 0, {}});
      end_of_old_ = edit.old_begin - context;
    }
    keep_until(edit.old_begin);
    for (size_t i = edit.old_begin; i < edit.old_end; i++) hunks_.back().lines.push_back({'-', before_[i]});
    for (size_t i = edit.new_begin; i < edit.new_end; i++) hunks_.back().lines.push_back({'+', after_[i]});
    hunks_.back().old_count += edit.old_end - edit.old_begin;
    hunks_.back().new_count += edit.new_end - edit.new_begin;
    end_of_old_ = edit.old_end;
  }
  // The context behind the last edit.
  void finish() {
    if (!hunks_.empty()) keep_until(std::min(end_of_old_ + kContextLines, before_.size()));
  }
  std::vector<LineHunk> take() { return std::move(hunks_); }

 private:
  void keep_until(size_t end) {
    for (; end_of_old_ < end; end_of_old_++) {
      hunks_.back().lines.push_back({' ', before_[end_of_old_]});
      hunks_.back().old_count++, hunks_.back().new_count++;
    }
  }
  const LineList &before_, &after_;
  size_t end_of_old_ = 0;
  std::vector<LineHunk> hunks_;
};

}  // namespace

std::vector<std::string_view> split_lines(std::string_view text) {
  LineList lines;
  for (size_t at = 0; at < text.size();) {
    const size_t newline = text.find('\n', at);
    const size_t end = newline == text.npos ? text.size() : newline + 1;
    lines.push_back(text.substr(at, end - at));
    at = end;
  }
  return lines;
}

std::vector<LineHunk> line_hunks(std::string_view before, std::string_view after) {
  const LineList old_lines = split_lines(before), new_lines = split_lines(after);
  HunkBuilder builder(old_lines, new_lines);
  for (const LineEdit& edit : edits_between(old_lines, new_lines)) builder.add(edit);
  builder.finish();
  return builder.take();
}

}  // namespace proposals
