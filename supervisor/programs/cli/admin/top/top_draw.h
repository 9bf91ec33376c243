// Drawing of `warder top`: the model as lines of styled text for a terminal of a size. Text of other programs is made
// harmless here.
// Source: TopModel, TopPage. Used by: top.cc, for TopScreen and for plain text. Pure:
// tests/supervisor/programs/cli/admin/top/top_model_test.cc.
#pragma once
#include <string>
#include <vector>

#include "supervisor/programs/cli/admin/top/top_model.h"
#include "supervisor/programs/cli/admin/top/top_page.h"

namespace admin {

enum class TopStyle { plain, quiet, heading, chosen, good, bad, warning, key };
struct TopSpan {
  std::string text;  // UTF-8 without control characters
  TopStyle style = TopStyle::plain;
};
struct TopLine {
  std::vector<TopSpan> spans;
  TopStyle fill = TopStyle::plain;  // of the rest of the line
  std::string text() const;
};

struct TopSize {
  size_t width = 80, height = 24;
  bool blocks = false;  // the terminal shows block characters
};

// The open execution: properties as D-Bus has them, null a minute after its end; what is stored of it, null before its
// end; the start of its output.
struct TopExecution {
  Json properties, record;
  std::string out, err, problem;
  bool out_cut = false, err_cut = false;  // there is more output
};

// At most `height` lines, for any size. Sets page.room and page.lines.
std::vector<TopLine> draw_top(const TopModel& model, TopPage& page, const TopExecution& execution, const TopSize& size);
// The whole list for a pipe: every execution, no help line.
std::vector<TopLine> draw_plain_top(const TopModel& model, const TopPage& page, size_t width);

}  // namespace admin
