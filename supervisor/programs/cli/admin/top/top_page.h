// TopPage: where the user of `warder top` is: the list, the help, or one execution; the chosen execution, the filter,
// and a question that waits for an answer. Keys change it, and may ask for an action.
// Source: keys of TopScreen. Used by: top_draw.h, top.cc. Pure:
// tests/supervisor/programs/cli/admin/top/top_model_test.cc.
#pragma once
#include <string>
#include <vector>

#include "supervisor/programs/cli/admin/top/top_model.h"

namespace admin {

// Keys that are no characters. Others are the character itself.
enum TopKey : int {
  kKeyUp = 0x110000,
  kKeyDown,
  kKeyPageUp,
  kKeyPageDown,
  kKeyHome,
  kKeyEnd,
  kKeyEnter,
  kKeyEscape,
  kKeyErase,
};

struct TopDeed {
  enum class Kind { nothing, quit, kill, freeze, thaw } kind = Kind::nothing;
  std::string id;  // of an execution
};

struct TopPage {
  enum class Shows { list, help, execution } shows = Shows::list;
  enum class Asks { nothing, filter, kill } asks = Asks::nothing;
  TopFilter filter;
  std::string chosen;   // the id of the chosen execution
  std::string reply;    // the result of the last action
  std::string problem;  // why what is shown is old; empty: it is not
  size_t scrolled = 0;  // lines of the help or of the execution above the first one that is visible
  size_t room = 1;      // lines for the list, the help or the execution; top_draw.h sets it
  size_t lines = 0;     // lines that the help or the execution has; top_draw.h sets it

  // `rows`: the executions as the list shows them.
  TopDeed take_key(int key, const std::vector<TopRow>& rows);

 private:
  TopDeed take_list_key(int key, const std::vector<TopRow>& rows);
  void scroll(int key);
  void choose(int key, const std::vector<TopRow>& rows);
  TopDeed act_on_chosen(int key, const std::vector<TopRow>& rows);
};

// The position of the chosen execution; -1: it is not in the list.
int position_of(const std::string& id, const std::vector<TopRow>& rows);

}  // namespace admin
